"""Relay: proxied requests go to their back end, and answers to the client, without a `Request`.

Public: cache.{RelayEntry, RelayTable, RelayCache}, relay.{Relay, RelayExchange, RelayClient}.
Every cache has a bound (docs/bounds.md).
Must not import: pipeline, modules, server.
"""
