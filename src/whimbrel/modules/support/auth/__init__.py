"""Credentials: Authorization fields, password files and hashes.

Public: auth_api.{BoundAuthn, AuthzCheck}, auth_files, passwords, system_crypt.
Verified passwords are cached for a short time, by hash only.
Must not import: a module, support.cgi.
"""
