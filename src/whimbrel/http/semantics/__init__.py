"""Meaning of messages, whatever their version: fields, conditional requests, ranges, dates, status codes,
error pages.  RFC 9110.

Public: headers.Headers, tracked_headers.TrackedHeaders, conditional, ranges, dates, status, error_page.
TrackedHeaders records which request fields were read: the cache of responses needs them for its keys.
Must not import: http1, http2.
"""
