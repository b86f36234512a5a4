"""Managed domains: certificates from authorities that speak ACME (httpd's modules/md).

Public: mod_md.
Must not import: server, upgrade, other modules but support, core settings and mod_log_config.
"""
