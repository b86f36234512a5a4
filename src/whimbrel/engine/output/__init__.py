"""From handler output to a response: byte ranges, headers, framing, the cache of response heads.

Public: headers.{finalize, build_response}, byteranges, head_cache.
Framing follows RFC 9112 section 6 and httpd's http_header_filter.
Must not import: server.
"""
