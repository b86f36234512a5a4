"""State machine of HTTP/1 connections: `connection` owns the parts `input`, `sender`, `cached_responses` and
`relay`; the table of its states is in `state`.

Public: connection.Http1Connection, input.Input, sender.Sender, relay.Relayer,
cached_responses.CachedResponder.
Cached and relayed responses are only what the general path answers to the same bytes.
Must not import: master, http2 (imported when a client upgrades).
"""
