"""Modules of one platform. Manual: mod/.

Modules: mod_unixd, mod_systemd.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
