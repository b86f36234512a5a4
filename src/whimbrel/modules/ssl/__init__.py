"""Modules of httpd's modules/ssl: TLS.

Public: see each file's MODULE.
Must not import: server, upgrade, access, cli.
"""
