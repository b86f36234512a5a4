"""The HTTP protocol's directives and media types. Manual: mod/.

Modules: mod_mime, http_core, etag, methods, protocols.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
