"""Where the new side answers 500, and the old one does not: how much of a host one line takes away."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from whimbrel.base.counts import count_noun, word_for
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import REFUSED_LINE
from whimbrel.verify.derive.hosts import UNKNOWN
from whimbrel.verify.derive.targets import NEUTRAL
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup

FAILED: Final = 500
MAX_DEPTH: Final = 4
"""Segments of a path that places are told apart by."""
MAX_EXCEPTIONS: Final = 3
"""Places of a sentence that do not fail."""
MAX_ORIGINS: Final = 3
"""Origins that a sentence names."""
MAX_SENTENCES: Final = 3
_ALL: Final = "all of "
_FILES: Final = " with files in "
_REQUESTS: Final = " requests to "
_METHODS: Final = ("GET", "HEAD")
_NOT_ALLOWED: Final = " not allowed here"


@dataclass(slots=True)
class _Place:
    """The requests at a path and below it: those that fail, by the message, and those that do not."""

    failed: dict[str, int] = field(default_factory=dict)
    others: int = 0
    below: dict[str, _Place] = field(default_factory=dict)


class Failures:
    """Places of origins by their paths, the directories of files that are sent, and the paths that neither
    side has. Bound: `MAX_DEPTH` segments of the requests of a comparison.
    """

    def __init__(self) -> None:
        self._origins: dict[str, _Place] = {}
        self._working: dict[str, set[str]] = {}
        self._missing: dict[str, set[str]] = {}

    def note(self, probe: Probe, answers: tuple[Answer, Answer]) -> None:
        """Note the answers to GET or HEAD; an invented name that both sides lack says nothing."""
        old, new = answers
        is_invented = NEUTRAL in probe.target or probe.host.startswith(UNKNOWN)
        if probe.method not in _METHODS or old.status == FAILED or is_invented:
            return
        has_failed = new.status == FAILED
        url = urlsplit(probe.url.partition("?")[0])
        origin = f"{url.scheme}://{url.netloc}"
        if not has_failed and new.status in (400, 404) and old.status >= 400:
            if new.status == 404:
                self._missing.setdefault(origin, set()).add(url.path.rstrip("/"))
            return
        place = self._origins.setdefault(origin, _Place())
        if not has_failed:
            self._working.setdefault(origin, set()).add(f"{os.path.dirname(new.file)}/")
        message = _message(new) if has_failed else ""
        segments = [segment for segment in url.path.split("/") if segment][:MAX_DEPTH]
        for segment in ("", *segments):
            if segment:
                place = place.below.setdefault(segment, _Place())
            if has_failed:
                place.failed[message] = place.failed.get(message, 0) + 1
            else:
                place.others += 1

    def sentences(self, groups: Iterable[DifferenceGroup]) -> Iterator[str]:
        """Yield what answers 500, why, and the line, the widest first: all of an origin or a path of it."""
        found: dict[str, list[DecidingLine]] = {}
        for group in groups:
            for message in (_message(one.new) for one in group.examples if one.new.status == FAILED):
                found.setdefault(message, []).extend((*group.cause.new, *group.cause.old))
        rows = [(message, self._extents(message), lines) for message, lines in found.items()]
        rows = [row for row in rows if row[1]]
        rows.sort(key=lambda row: -max(count for _, count in row[1]))
        for message, extents, lines in rows[:MAX_SENTENCES]:
            verb = "answers" if len(extents) == 1 else "answer"
            # numbers of requests come last: they are about one origin
            texts = sorted((text for text, _ in extents), key=lambda text: _REQUESTS in text)
            yield f"{_extents_text(texts)} {verb} 500: {_reason(message, lines)}"
        if len(rows) > MAX_SENTENCES:
            more = len(rows) - MAX_SENTENCES
            yield f"{count_noun(more, 'more line')} {word_for(more, 'makes', 'make')} documents answer 500"

    def _extents(self, message: str) -> list[tuple[str, int]]:
        """Return the places at which *message* is the reason, with the numbers of their requests."""
        found: list[tuple[str, int]] = []
        for origin, place in self._origins.items():
            if message in place.failed:
                working = self._working.get(origin, set())
                found += _extents_of(origin, place, message, working, self._missing.get(origin, set()))
        return sorted(found, key=lambda row: -row[1])


def _extents_of(
    origin: str, place: _Place, message: str, working: Iterable[str], missing: Container[str], path: str = ""
) -> Iterator[tuple[str, int]]:
    """Yield the parts of *origin* at *path* and below it that *message* is the reason for, with the numbers
    of their requests.

    *working*: directories of files that are sent; *missing*: paths that answer 404, so that what is above
    them does not fail as a whole.
    """
    while (child := _only(place, message)) is not None:
        path += f"/{child[0]}"
        place = child[1]
    count = place.failed[message]
    inner = {name: one for name, one in place.below.items() if message in one.failed}
    if not place.below:
        yield f"{origin}{path or '/'}", count
        return
    exceptions = [f"{path}/{name}" for name, one in place.below.items() if message not in one.failed]
    own = place.others - sum(one.others for one in place.below.values())
    top = f"{origin}{path}/"
    is_mixed = bool(own) or any(one.others for one in inner.values()) or len(exceptions) > MAX_EXCEPTIONS
    refused = REFUSED_LINE.match(message)
    directory = f"{os.path.dirname(refused[1]).rstrip('/')}/" if refused is not None else ""
    if (is_mixed or exceptions) and directory and not any(one.startswith(directory) for one in working):
        yield f"{_ALL}{top}{_FILES}{directory.rstrip('/')}", count
    elif not inner:
        yield f"{origin}{path or '/'}", count
    elif path in missing and len(inner) <= MAX_EXCEPTIONS:
        for name, one in inner.items():
            yield from _extents_of(origin, one, message, working, missing, f"{path}/{name}")
    elif is_mixed or path in missing:
        yield f"{count:,} of {place.others + sum(place.failed.values()):,}{_REQUESTS}{top}", count
    else:
        yield f"{_ALL}{top}" + (f" but {_joined(exceptions)}" if exceptions else ""), count


def _only(place: _Place, message: str) -> tuple[str, _Place] | None:
    """Return the one child that has all requests which fail for *message*; None for several."""
    inner = [(name, one) for name, one in place.below.items() if message in one.failed]
    if len(inner) == 1 and inner[0][1].failed[message] == place.failed[message]:
        return inner[0]
    return None


def _message(answer: Answer) -> str:
    """Return the message about the line that 2.4 refuses, else the last one; "" for none."""
    refused = next(filter(REFUSED_LINE.match, answer.log), "")
    return refused or next(iter(answer.log[-1:]), "")


def _reason(message: str, lines: Sequence[DecidingLine]) -> str:
    """Return why 2.4 fails, with the line."""
    text = message.partition(": ")[2] or message
    if text.endswith(_NOT_ALLOWED):
        text = f"no AllowOverride permits {text.removesuffix(_NOT_ALLOWED)}"
    place = next((f" ({line.path}:{line.line})" for line in lines), "")
    return f"{text or 'no message says why'}{place}"


def _extents_text(texts: list[str]) -> str:
    """Return the extents as one text; the directory that all have is named once."""
    parts = [text.partition(_FILES) for text in texts]
    if len({tail for _, _, tail in parts}) > 1 or not parts[0][1]:
        return _joined(texts)
    return (
        _joined([parts[0][0], *(head.removeprefix(_ALL) for head, _, _ in parts[1:])]) + _FILES + parts[0][2]
    )


def _joined(texts: list[str]) -> str:
    more = [f"{len(texts) - MAX_ORIGINS} more"] if len(texts) > MAX_ORIGINS else []
    *most, last = [*texts[:MAX_ORIGINS], *more]
    return f"{', '.join(most)} and {last}" if most else last
