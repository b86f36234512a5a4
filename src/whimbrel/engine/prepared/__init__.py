"""Prepared requests: the state of a request before its handler, stored with what it depends on.

Public: prepared_cache.PreparedCache, prepared_request.PreparedRequest.
Every cache has a bound in bytes (docs/bounds.md).
Must not import: cache, pipeline, modules.
"""
