"""Numbers as C reads them: what the servers take for one, and what becomes of a number that is too large."""

from __future__ import annotations

import re

from whimbrel.base import numbers
from whimbrel.base.lazy_re import compile

LONG_MAX, LONG_MIN, INT_MAX = 2**63 - 1, -(2**63), 2**31 - 1
_INTEGER = compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_FLOAT = compile(
    r"[ \t\n\v\f\r]*[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
DAY = 86_400


def strtol(word: str) -> tuple[int, str, bool]:
    """The decimal number at the beginning of *word* (0 without one), the rest, and whether it was out of range (and cut to 64 bits)."""
    value, rest = numbers.strtol(word)
    digits = word[: len(word) - len(rest)].lstrip(numbers.BLANKS + "+-").lstrip("0")
    return (
        value,
        rest,
        numbers.decimal(digits) > LONG_MAX and not (value == LONG_MIN and digits == str(-LONG_MIN)),
    )


atoi = numbers.atoi


def is_float(word: str) -> bool:
    """Whether *word* begins with what sscanf takes for a floating-point number."""
    return _FLOAT.match(word) is not None


def timeout(word: str, version: str) -> int | None:
    """A time as ap_timeout_parameter_parse reads it, in milliseconds; None when the format is wrong.

    Units are s, ms, min and h, in lower case, of which only what tells them apart is looked at (``hour``, ``mi``); seconds without one.  A unit
    alone is none of it.  2.4 refuses negative times.
    """
    value, unit, cut = strtol(word)
    scale = (
        1000
        if not unit
        else next(
            (
                s
                for start, s in (("s", 1000), ("h", 3_600_000), ("ms", 1), ("mi", 60_000))
                if unit.startswith(start)
            ),
            0,
        )
    )
    if cut or not word or not scale or (value < 0 and version == "2.4"):
        return None
    return value * scale


def md_duration(word: str) -> int | None:
    """A duration as mod_md reads it, in milliseconds, with the units d, h, mi, s and ms in any case, of which only the first letters count."""
    value, unit, cut = strtol(word)
    units = (("d", DAY * 1000), ("h", 3_600_000), ("s", 1000), ("ms", 1), ("mi", 60_000))
    scale = 1000 if not unit else next((size for start, size in units if unit.lower().startswith(start)), 0)
    return value * scale if scale and not cut and _INTEGER.match(word) else None
