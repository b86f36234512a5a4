"""Access, debug and forensic logs.  Manual: mod/.

Modules: mod_log_config, mod_log_debug, mod_log_forensic, mod_logio.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
