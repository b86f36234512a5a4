"""HTTP/1 messages: chunked bodies and response heads.  RFC 9112 sections 6 and 7.

Public: chunked.{ChunkedBody, LengthBody}, response.
The state machine of a connection is server/http1.
Must not import: http2, engine.
"""
