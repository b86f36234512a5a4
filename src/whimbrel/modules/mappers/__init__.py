"""From URLs to files and handlers. Manual: mod/.

Modules: mod_actions, mod_alias, mod_dir, mod_imagemap, mod_negotiation, mod_rewrite, mod_speling,
mod_userdir, mod_vhost_alias.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
