"""Back ends: origin servers and application servers, and the protocols that they speak.

Public: connection.{BackendConnection, BackendBody}, pool.ConnectionPool; fastcgi, scgi,
uwsgi, ajp (HTTP is http/client). The codecs own no socket; they take bytes and return values.
Must not import: modules, server.
"""
