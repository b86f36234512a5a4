"""The header fields and the body in which the responses of two sides differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.verify.answer import Answer
from whimbrel.verify.difference import FieldDifference, compare
from whimbrel.verify.digest_user import by_digest, wants_digest
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

_STEPS: Final = ("status", "location", "file", "user", "handler", "demands on the back end")
"""Parts that the steps of both sides show."""
_ENVIRONMENT: Final = "environment "


def response_differences(old: Side, new: Side, probe: Probe) -> tuple[FieldDifference, ...]:
    """Return what differs besides the way of the request; () if a side does not load.

    Statuses that differ are the whole difference: all else follows from them.
    """
    if not (old.is_loaded and new.is_loaded):
        return ()
    new.runtime.time = old.runtime.time  # times in responses (Expires, Date) are those of one moment
    difference = compare(_answer(old, probe), _answer(new, probe))
    if difference is None or "status" in difference.names:
        return ()
    parts = (part for part in difference.parts if part.name not in _STEPS)
    return tuple(part for part in parts if not part.name.startswith(_ENVIRONMENT))


def _answer(side: Side, probe: Probe) -> Answer:
    """Return the answer to *probe*; a user whom only Digest admits answers its challenge."""
    answer = side.answer(probe)
    if answer.status != 401 or probe.user is None or not wants_digest(answer.field("www-authenticate")):
        return answer
    return side.answer(by_digest(probe)) if probe.user.scheme == "basic" else answer


def part_texts(part: FieldDifference) -> tuple[str, str]:
    """Return both sides of *part*; of a body the number of bytes."""
    values = (part.old, part.new)
    if part.name == "body":
        return _body_texts(values)
    old, new = (f"{part.name}: {value}" if value else f"no {part.name}" for value in values)
    return old, new


def _body_texts(values: Iterable[str]) -> tuple[str, str]:
    """Return the lengths; equal ones say that the content differs."""
    old, new = (" ".join(value.split()[:2]) for value in values)
    suffix = ", other content" if old == new else ""
    return f"body: {old}", f"body: {new}{suffix}"
