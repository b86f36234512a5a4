"""Authentication, authorization and access control.  Manual: mod/.

Modules: mod_access_compat, mod_auth_*, mod_authn_*, mod_authz_*, mod_allowmethods.
Each mod_NAME has one `Module` with directives and hooks; whimbrel.modules lists them.
Must not import: server, cli.
"""
