"""Request and response metadata.  Manual: mod/.

Modules: mod_cern_meta, mod_env, mod_expires, mod_headers, mod_ident, mod_mime_magic, mod_remoteip,
mod_setenvif, mod_unique_id, mod_usertrack, mod_version.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
