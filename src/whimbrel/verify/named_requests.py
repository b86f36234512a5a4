"""Comments that decide about a difference without lines: they name the request, and what differs.

Such a comment stands in the main file of the text: ``# whimbrel: ignore[DIFF GET http://a/.cgi: status 403 ->
404]``. It covers the answers to this method and URL alone, and of these what it names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from whimbrel.upgrade.model import DIFFERENCE, Finding
from whimbrel.upgrade.source.marks import OF_REQUEST

MAX_REQUESTS: Final = 100
"""Requests of one difference that comments may name; of more none is offered, and none decides."""


def request_of(request: str, words: str) -> str:
    """Return what a comment names: *request* is the method and the URL, *words* what differs."""
    return f"{request}: {words}"


def comment_of(request: str) -> str:
    """Return the comment that names *request*, as `request_of` returns it."""
    return f"# whimbrel: ignore[{DIFFERENCE} {request}]"


def comments_of(requests: Collection[str]) -> list[str]:
    """Return the comments that record a difference of *requests* together; [] where none do."""
    return list(map(comment_of, requests)) if len(requests) <= MAX_REQUESTS else []


def decided_requests(requests: Collection[str], recorded: Iterable[Finding]) -> tuple[str, ...]:
    """Return ``DIFF at FILE:LINE`` for each of *requests*; () unless a comment names each of them."""
    named: dict[str, str] = {}
    for finding in recorded:
        if finding.rule == DIFFERENCE and finding.message.startswith(OF_REQUEST):
            place = f"{DIFFERENCE} at {finding.place.path}:{finding.place.line}"
            named.setdefault(finding.message.removeprefix(OF_REQUEST), place)
    if not requests or len(requests) > MAX_REQUESTS or not all(one in named for one in requests):
        return ()
    return tuple(dict.fromkeys(named[one] for one in requests))
