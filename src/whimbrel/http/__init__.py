"""HTTP without input or output (sans-IO): RFC 9110, 9112 and 9113, with httpd's rules where it differs.

Public: syntax (request heads, targets), semantics (conditional requests, ranges, error pages), http1, http2,
client (requests to origin servers).
Functions take bytes and return values; sockets are server/, requests are engine/.
Must not import: engine, modules, server.
"""
