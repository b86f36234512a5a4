"""Relayed requests: proxied requests that go to their back end and return to the client without a `Request`.

Public: relayed_request.{RelayedRequest, RelayCache}, relay.{Relay, RelayExchange, RelayClient}.
Every cache has a bound (docs/bounds.md).
Must not import: pipeline, modules, server.
"""
