"""Authentication, authorization and access control.  Manual: mod/.

Modules: mod_access_compat, mod_allowmethods, mod_auth_*, mod_authn_*, mod_authz_*; allow_deny.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
