"""HTTP/2 frames, streams and header compression.  RFC 9113, RFC 7541.

Public: connection (frames and windows of a server's connection), protocol (error codes, settings), hpack
(encoder and decoder with bounds).
Limits are checked before work is done for a frame.
Must not import: http1, engine.
"""
