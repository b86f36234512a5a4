"""Handlers that generate content. Manual: mod/.

Modules: mod_asis, mod_autoindex, mod_cgi, mod_cgid, mod_info, mod_status,
mod_suexec.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
