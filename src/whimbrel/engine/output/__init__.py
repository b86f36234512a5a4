"""From handler output to a response: output filters, byte ranges, headers, framing, the cache of heads.

Public: headers.{finalize, build_response}, byteranges, filters, media_type, head_cache.
Framing follows RFC 9112, section 6, and httpd's http_header_filter.
Must not import: server.
"""
