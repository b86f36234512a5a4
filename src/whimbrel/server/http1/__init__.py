"""State machine of HTTP/1 connections: reading heads, writing responses, the fast path of cached responses.

Public: protocol.HttpProtocol, writer.ResponseWriter, fast_path.FastPath, send_file.
The fast path answers only what the general path answers to the same bytes.
Must not import: master, http2 (imported when a client upgrades).
"""
