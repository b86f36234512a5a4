"""httpd's modules/echo: a protocol other than HTTP.  Manual: mod/.

Modules: mod_echo.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
