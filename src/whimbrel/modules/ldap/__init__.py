"""LDAP directories for other modules.  Manual: mod/.

Modules: mod_ldap.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
