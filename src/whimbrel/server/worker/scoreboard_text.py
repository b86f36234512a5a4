"""Texts of the scoreboard's slots: their form, and a validating reader.

A text of another form, with a number out of bounds, an unknown state or a character beyond latin-1, is
Unreadable as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from whimbrel.engine.runtime import ScoreboardRow

MAX_COUNT: Final = (1 << 63) - 1
MAX_IDLE: Final = 64  # letters of idle threads in one text
MAX_LETTERS: Final = 8192  # letters of connections in one text
MAX_TEXT: Final = 63  # characters of the longest text in a row
STATES: Final = frozenset("_SRWKDLCGI.")

Reader = Callable[[Any], Any]


class ScoreboardError(ValueError):
    """Error: the bytes are not a worker's text."""


def parse(data: bytes, shape: Reader) -> dict[str, Any]:
    """Parse one text of the form *shape*, WORKER or SUMS. Raises ScoreboardError."""
    try:
        # from bytes it would guess an encoding
        value: dict[str, Any] = shape(json.loads(data.decode("ascii")))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ScoreboardError from None
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_COUNT:
        raise ScoreboardError
    return value


def _amount(value: Any) -> float:
    if type(value) not in (int, float) or not 0 <= value <= MAX_COUNT:
        raise ScoreboardError
    return float(value)


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise ScoreboardError
    return value


def _text(value: object) -> str:
    if type(value) is not str or len(value) > MAX_TEXT:
        raise ScoreboardError
    value.encode("latin-1")
    return value


def _state(value: object) -> str:
    if type(value) is not str or value not in STATES:
        raise ScoreboardError
    return value


def _letters(value: object) -> str:
    if type(value) is not str or len(value) > MAX_LETTERS or not STATES.issuperset(value):
        raise ScoreboardError
    return value


def _idle(value: object) -> int:
    count = _count(value)
    if count > MAX_IDLE:
        raise ScoreboardError
    return count


def _pair(value: Any) -> tuple[float, float]:
    first, second = value
    return _amount(first), _amount(second)


def _record(**fields: Reader) -> Reader:
    readers = tuple(fields.items())
    return lambda value: {key: reader(value[key]) for key, reader in readers}


_row: Final = _record(state=_state, client=_text, protocol=_text, request=_text, vhost=_text, served=_count)


def _rows(value: Any) -> list[ScoreboardRow]:
    return [ScoreboardRow(_row(row)) for row in value]


_SUMS: Final[dict[str, Reader]] = {"accesses": _count, "bytes": _count, "duration": _amount, "cpu": _pair}
_PROCESS: Final = _record(
    slot=_count,
    pid=_count,
    stopping=_flag,
    connections=_count,
    accepting=_flag,
    writing=_count,
    keep_alive=_count,
    closing=_count,
    wait_io=_count,
    workers=_letters,
)
_WORKER: Final = _record(
    process=_count, generation=_count, pid=_count, requests=_count, sent=_count, cpu=_amount, duration=_amount
)

SUMS: Final = _record(**_SUMS)
WORKER: Final = _record(**_SUMS, process=_PROCESS, rows=_rows, worker=_WORKER, idle=_idle, waiting=_state)
