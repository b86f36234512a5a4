"""Parsers of request heads: request line, fields, host, target, URL paths.  RFC 9112 sections 2 to 5, RFC
9110 section 5.

Public: head.{Head, HeadError}, line_reader, request_line, fields, host, target, url.
A parser reports a fault as a value or a `HeadError` with httpd's log message; it never raises anything else.
Must not import: semantics, http1, http2.
"""
