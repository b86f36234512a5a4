"""State machine of HTTP/2 connections and streams. RFC 9113.

Public: connection.Http2Connection, sender.Sender, stream.Stream,
cached_responses.CachedResponder. Work per tick, streams, heads and bytes in memory are bounded.
Must not import: master, http1.
"""
