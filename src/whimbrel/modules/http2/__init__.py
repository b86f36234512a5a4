"""HTTP/2's directives. Manual: mod/.

Modules: mod_http2.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
