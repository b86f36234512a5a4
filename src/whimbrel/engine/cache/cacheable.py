"""Conditions under which a response may be stored: what it is about is in its head, and in files."""

from __future__ import annotations

from typing import Any

from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.body import FileSegment
from whimbrel.engine.output.field_slots import ClockValue, HeadPiece, KeepAliveCount, LengthValue
from whimbrel.engine.request import Request
from whimbrel.engine.response import Framing, Response
from whimbrel.http.syntax.head import Head


def is_cacheable_head(head: Head) -> bool:
    """Return True if all of a head is in its fields: no error, body, expectation, or odd fragment."""
    return (
        not (
            head.error is not None
            or head.notes
            or head.close
            or head.chunked
            or head.length
            or head.length_bad
            or head.expect_continue
            or head.url is not None
            or "#" in head.target
        )
        and head.headers.is_unique
    )


def _has_cacheable_body(r: Request, response: Response) -> bool:
    """Return True if the body is bytes or one unmodified file, rebuilt by the handler alone."""
    parts = response.parts
    old = not r.connection.is_http2
    if r.body_factory is not None and (r.output_filters or not old):
        return False
    if all(isinstance(part, bytes) for part in parts):
        return True
    part = parts[0]
    return (
        old
        and len(parts) == 1
        and isinstance(part, FileSegment)
        and part.path == r.filename
        and response.framing is Framing.LENGTH
        and r.status == 200
        and r.finfo is not None
        and part.length == r.finfo.st_size
    )


def is_cacheable(r: Request, response: Response) -> bool:
    """Return True if the response to *r* may answer later requests with the same head."""
    if not r.may_cache or r.connection.is_draining or r.method_number != 0 or r.assbackwards:
        return False
    if response.framing is Framing.CLOSE:
        return False
    if r.connection.proxied is not None:
        # the key has the connection's address, which is the proxy's here, whatever the virtual host
        # configures
        return False
    if r.next is not None:
        return False  # its ErrorDocument failed: logs show that request, which has sent nothing
    if r.body_in.length != 0 or not _has_cacheable_body(r, response):
        return False
    return r.deps.is_settled(r.time) and not _has_lost_slot(r, response.slots)


def is_last(r: Request, response: Response) -> bool:
    """Return True if the response is the last one because the connection has had its number of requests."""
    return response.close and 0 < r.server_conf(CoreServerConfig).max_keep_alive <= r.connection.served


def served_bounds(r: Request, response: Response) -> tuple[int, int]:
    """Return the numbers of earlier requests on a connection between which the response is valid."""
    most = r.server_conf(CoreServerConfig).max_keep_alive
    return most if is_last(r, response) else 0, (0 if response.close else most) or 1 << 60


def logs_slot(r: Request, writer: Any) -> bool:
    """Return True if an access log shows a field that each use of the response computes anew."""
    fields = writer.response_fields
    return bool(
        (fields and r.deps.clock_fields)
        or (r.keepalive_max and "keep-alive" in fields)
        or (r.body_factory is not None and "content-length" in fields)
    )


def _has_lost_slot(r: Request, slots: tuple[HeadPiece, ...]) -> bool:
    """Return True if a field that each use computes anew was changed by another module."""
    found = [piece for piece in slots if isinstance(piece, ClockValue)]
    if any(all(value is not piece for piece in found) for value in r.deps.clock_fields):
        return True
    if r.keepalive_max and not any(isinstance(piece, KeepAliveCount) for piece in slots):
        return True
    return r.body_factory is not None and not r.chunked and not any(isinstance(p, LengthValue) for p in slots)
