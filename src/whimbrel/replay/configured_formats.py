"""Access-log formats of a configuration: those of LogFormat, CustomLog and GlobalLog lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from whimbrel.base.numbers import lower
from whimbrel.directives.tokens import words as split_words
from whimbrel.replay.log_format import DEFAULT_FORMATS, LineFormat
from whimbrel.verify.side import Side


def formats_of(*sides: Side, given: str = "") -> list[LineFormat]:
    """Return *given* alone, or its definition if it is a name; else the formats of the configurations, the
    default ones, and each of them with the virtual host in front.  Raises ValueError for a format without the
    request.
    """
    named: dict[str, str] = {}
    texts: dict[str, None] = {}
    for side in sides:
        for node in _log_lines(side):
            words = split_words(node.args)
            if lower(node.name) == "logformat" and len(words) > 1:
                named[words[1]] = words[0]
            for word in words[:1] if lower(node.name) == "logformat" else words[1:2]:
                if "%" in word:
                    texts[word] = None
    if given:
        return [LineFormat.compile(named.get(given, _SHORT.get(given, given)))]
    compiled = []
    for text in (*texts, *DEFAULT_FORMATS):
        try:
            compiled.append(LineFormat.compile(text))
        except ValueError:
            continue  # a log of something else than requests
    with_host = [f"%v {form.text}" for form in compiled if not HOSTS.intersection(form.names)]
    return [*compiled, *map(LineFormat.compile, with_host)]


HOSTS: Final = frozenset(("host", "header host"))
"""The values of a format that name the host of a request."""
_SHORT = dict(zip(("vhost_combined", "combined", "common"), DEFAULT_FORMATS, strict=True))


def _log_lines(side: Side) -> Iterator[Any]:
    found: list[Any] = []
    side.each_node(
        lambda node: (
            found.append(node) if lower(node.name) in ("logformat", "customlog", "globallog") else None
        )
    )
    return iter(found)
