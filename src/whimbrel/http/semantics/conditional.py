"""Conditional requests: send the resource, 304, or 412 (RFC 9110, 13).

In both versions a date that fails overrides a tag that matches: If-None-Match with the right tag and an older
If-Modified-Since gets the full response.  2.2 evaluates If-Unmodified-Since only without If-Match, and
compares tags including their weakness; 2.4 compares as the RFC requires.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from itertools import takewhile
from typing import Final

from whimbrel.base.numbers import strip
from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.http.semantics.headers import Headers

_PIECE: Final = r'"[^"\\]*+(?:\\.?[^"\\]*+)*(?:"|\Z)|[^",\s]'
_MEMBER = re.compile(
    rf"(?:{_PIECE})(?:{_PIECE}|\s++(?!,|\Z))*", re.DOTALL | re.ASCII
)  # a quoted string without its end goes on to the end of the field: negotiated ETags of 2.4 are such
CONDITIONS: Final = frozenset(
    ("if-match", "if-unmodified-since", "if-none-match", "if-modified-since", "if-range")
)  # fields that matter here
_STRONG_AFTER = (
    60  # seconds after which a time is a strong validator: a change within them might have the same time
)


class PreconditionResult(Enum):
    """The outcome of `meets_conditions`."""

    OK = auto()
    NOT_MODIFIED = auto()
    FAILED = auto()


def meets_conditions(
    method: str,
    headers: Headers,
    etag: str | None,
    last_modified: int | None,
    now: int,
    status: int = 200,
    *,
    version22: bool = False,
) -> PreconditionResult:
    """Compare the request's conditions with the resource's tag and time (seconds since 1970; None means
    changed *now*).

    *now* is the time of the request; unsuccessful responses meet every condition.
    """
    if not 200 <= status < 300:
        return PreconditionResult.OK
    modified = now if last_modified is None else last_modified
    if version22:
        return _meets_22(method, headers, etag, modified, now)
    return _meets_24(method, headers, etag, modified, now)


def _meets_24(method: str, headers: Headers, etag: str | None, modified: int, now: int) -> PreconditionResult:
    headers.has_none(CONDITIONS)  # all of them are requested, there or not
    fields = headers.entries()
    get = method in ("GET", "HEAD")
    match = headers.get_list("If-Match")
    if match is not None and match[:1] != "*" and not (etag is not None and find_etag_strong(match, etag)):
        return PreconditionResult.FAILED
    parts = "range" in fields
    fresh = (
        parts and now < modified + _STRONG_AFTER
    )  # parts of a resource are not judged by a time of less than a minute ago
    unmodified = "if-unmodified-since" in fields
    if unmodified and not fresh:
        since = parse_http(fields["if-unmodified-since"][1])
        if since is not None and modified > since:
            return PreconditionResult.FAILED
    same = _none_match_24(get, fields["if-none-match"][1], etag, parts) if "if-none-match" in fields else None
    if same and not get:
        return PreconditionResult.FAILED
    unchanged: bool | None = None
    if "if-modified-since" in fields:
        since = parse_http(fields["if-modified-since"][1])
        unchanged = since is not None and modified <= since <= now and not fresh
    if "if-range" in fields and parts:
        return PreconditionResult.OK
    if get and False not in (same, unchanged) and not unmodified and (same or unchanged):
        return PreconditionResult.NOT_MODIFIED
    return PreconditionResult.OK


def _none_match_24(get: bool, value: str, etag: str | None, parts: bool) -> bool:
    """Return True if If-None-Match names the resource."""
    if value[:1] == "*":
        return True
    if etag is None:
        return False
    return find_etag_weak(value, etag) if get and not parts else find_etag_strong(value, etag)


def _meets_22(method: str, headers: Headers, etag: str | None, modified: int, now: int) -> PreconditionResult:
    get = method in ("GET", "HEAD")
    match = headers.get_list("If-Match")
    if match is None:
        since = parse_http(headers.get("If-Unmodified-Since") or "")
        if since is not None and modified > since:
            return PreconditionResult.FAILED
    elif match[:1] != "*" and not (etag is not None and find_etag(match, etag)):
        return PreconditionResult.FAILED
    none_match = headers.get_list("If-None-Match")
    same = none_match is not None and (
        none_match[:1] == "*" or (etag is not None and find_etag(none_match, etag))
    )
    if same and not get:
        return PreconditionResult.FAILED
    value = headers.get("If-Modified-Since")
    if get and value is not None and (same or none_match is None):
        date = parse_http(value)
        same = date is not None and modified <= date <= now
    return PreconditionResult.NOT_MODIFIED if same else PreconditionResult.OK


def find_etag(value: str, etag: str) -> bool:
    """Return True if 2.2 finds the tag: exact; no weak tag matches, as unquoted text is in lower case."""
    return not etag.startswith("W") and etag in _members(value)


def find_etag_strong(value: str, etag: str) -> bool:
    """Strong comparison: the same tag and neither weak; the list ends at its first weak member."""
    return etag.startswith('"') and etag in takewhile(_is_strong, _members(value))


def find_etag_weak(value: str, etag: str) -> bool:
    """Weak comparison: the same tag, marks of weakness aside; the list ends at a word that is no tag."""
    bare = etag.removeprefix("W/")
    members = [member.removeprefix("W/") for member in _members(value)]
    return _is_strong(bare) and bare in takewhile(_is_strong, members)


def _is_strong(member: str) -> bool:
    return member.startswith('"')


def _members(value: str) -> list[str]:
    """Return the elements of a comma-separated list; quoted strings stay in one piece."""
    return [strip(match[0]) for match in _MEMBER.finditer(value)]


def range_still_fits(
    headers: Headers, etag: str | None, last_modified: int | None, now: int, *, version22: bool = False
) -> bool:
    """If-Range: whether the ranges requested may be sent (RFC 9110 13.1.5).

    A tag is compared strongly; a date has to be the time of the last change exactly, in 2.2 letter by letter,
    in 2.4 at least a minute old.
    """
    value = headers.get("If-Range")
    if value is None:
        return True
    if value[:1] == '"':
        return etag == value
    if last_modified is None:
        return False
    if version22:
        return value == format_http(last_modified)
    return parse_http(value) == last_modified and now >= last_modified + _STRONG_AFTER
