"""Dependencies of a response: file signatures, recorded, and checked before a cached response is used.

Public: files.{Dependencies, TickStatCache, StatResult, FileCache}.
Every cache has a bound in bytes (docs/bounds.md).
Must not import: cache, pipeline.
"""
