"""Request and response metadata.  Manual: mod/.

Modules: mod_env, mod_expires, mod_headers, mod_remoteip, mod_setenvif, ....
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
