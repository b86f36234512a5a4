"""Content filters. Manual: mod/.

Modules: mod_include, mod_ratelimit, mod_reqtimeout, mod_request.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
