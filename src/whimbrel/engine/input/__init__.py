"""Request bodies: limits, decoding, discarding.

Public: body.{RequestBody, BodyError, FileSegment}.
Input filters are applied to a RequestBody.
Must not import: pipeline, output.
"""
