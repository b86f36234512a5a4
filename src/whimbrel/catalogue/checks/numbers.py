"""Numbers as C reads them: accepted formats, and the result of overflow."""

from __future__ import annotations

import re

from whimbrel.base import numbers
from whimbrel.base.lazy_re import compile

LONG_MAX = 2**63 - 1
LONG_MIN = -(2**63)
INT_MAX = 2**31 - 1
_FLOAT = compile(
    r"[ "
    r"\t\n\v\f\r]*[+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)",
    re.IGNORECASE,
)
DAY = 86_400


def strtol(word: str) -> tuple[int, str, bool]:
    """Return the decimal number at the beginning of *word* (0 without one), the rest, and True if it was out
    of range (and cut to 64 bits).
    """
    value, rest = numbers.strtol(word)
    digits = word[: len(word) - len(rest)].lstrip(numbers.BLANKS + "+-").lstrip("0")
    return (
        value,
        rest,
        numbers.decimal(digits) > LONG_MAX and not (value == LONG_MIN and digits == str(-LONG_MIN)),
    )


atoi = numbers.atoi


def is_float(word: str) -> bool:
    """Return True if *word* begins with a floating-point number as sscanf reads it."""
    return _FLOAT.match(word) is not None


def timeout(word: str, version: str) -> int | None:
    """Parse a time as ap_timeout_parameter_parse does, in milliseconds; None if the format is wrong.

    Units are s, ms, min and h, in lower case; only the letters that distinguish them are compared (``hour``,
    ``mi``).  The default is seconds; a unit alone is an error.  2.4 refuses negative times.
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
