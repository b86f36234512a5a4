"""WebDAV, RFC 4918: methods, properties and locks (httpd's modules/dav).

Public: mod_dav (methods; the protocol of providers), mod_dav_fs (files), mod_dav_lock (generic locks).
Must not import: server, upgrade, access, cli.
"""
