"""Database connections.  Manual: mod/.

Modules: mod_dbd; dbd_drivers (SQLite, PostgreSQL, MySQL).
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
