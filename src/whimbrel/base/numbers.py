"""Numbers, letters and blanks as C reads them in httpd: ASCII only, of any length, without exceptions.

Python accepts more than C: `int` takes ``1_0`` and raises at 4,301 digits, `isdigit` takes superscripts,
`strip` and `split` take 0x85 and 0xa0, `upper` leaves latin-1 (0xb5, 0xdf, 0xff).  Code that reads requests,
responses and configurations uses these functions.
"""

from __future__ import annotations

import re

from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import Final

BLANKS: Final = " \t\n\v\f\r"  # isspace() of C
LONG_MAX: Final = (1 << 63) - 1
_SAFE: Final = 18  # decimal digits that always fit into 63 bits
_DIGITS: Final = compile(r"[0-9]+")
_BASES: Final = {
    10: re.compile(r"[ \t\n\v\f\r]*([+-]?)([0-9]+)"),
    16: compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX](?=[0-9a-fA-F]))?([0-9a-fA-F]+)"),
    8: compile(r"[ \t\n\v\f\r]*([+-]?)([0-7]+)"),
}
_DOUBLE: Final = compile(
    r"[ \t\n\v\f\r]*[+-]?(?:(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
    r"|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?|nan))"
)
_UPPER: Final = {c: c - 32 for c in range(97, 123)}
_LOWER: Final = {c: c + 32 for c in range(65, 91)}
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


def is_digits(text: str) -> bool:
    """Return True if *text* is one or more of the digits 0 to 9."""
    return text.isdecimal() and text.isascii()


def is_letter(text: str) -> bool:
    """Return True if *text* is one letter of ASCII."""
    return text in _LETTERS


def is_alphanumeric(text: str) -> bool:
    """Return True if *text* is one or more letters and digits of ASCII."""
    return text.isalnum() and text.isascii()


def is_blank(text: str) -> bool:
    """Return True if *text* is one or more blanks of C."""
    return bool(text) and not text.strip(BLANKS)


def strip(text: str) -> str:
    """*text* without blanks of C at both ends."""
    return text.strip(BLANKS)


def split(text: str, most: int = 0) -> list[str]:
    """Split *text* at blanks of C; *most* above 0 limits the number of splits, as in `str.split`."""
    words = _BLANK_RUN.split(text.lstrip(BLANKS), most)
    return words if words[-1] else words[:-1]


_BLANK_RUN: Final = compile(r"[ \t\n\v\f\r]+")


def lower(text: str) -> str:
    """*text* with the letters of ASCII in lower case."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def upper(text: str) -> str:
    """*text* with the letters of ASCII in upper case."""
    return text.upper() if text.isascii() else text.translate(_UPPER)


def decimal(digits: str) -> int:
    """Return the value of a text of digits; `LONG_MAX` + 1 for what needs more than 63 bits."""
    if len(digits) > _SAFE:
        digits = digits.lstrip("0")
        if len(digits) > _SAFE + 1:
            return LONG_MAX + 1
    return min(int(digits or "0"), LONG_MAX + 1)


def strtol(text: str, base: int = 10) -> tuple[int, str]:
    """Return the number at the start of *text*, saturated at 64 bits, 0 for none, and the rest; *base* is 8,
    10, 16, or 0 for C's prefixes.
    """
    if base == 0:
        digits = text.lstrip(BLANKS).lstrip("+-")[:3]
        if re.match("0[xX][0-9a-fA-F]", digits):
            base = 16
        elif digits[:1] == "0":
            base = 8
        else:
            base = 10
    match = _BASES[base].match(text)
    if match is None:
        return 0, text
    value = decimal(match[2]) if base == 10 else int(match[2], base)
    return max(-value, -LONG_MAX - 1) if match[1] == "-" else min(value, LONG_MAX), text[match.end() :]


def strtol_exact(text: str, base: int = 10) -> int | None:
    """Return the whole of *text* as `strtol` reads it, or None; ``""`` is 0, as C reads it."""
    value, rest = strtol(text, base)
    return None if rest else value


def atof(text: str) -> float:
    """Return the number at the start of *text* as C reads a double: decimal or hexadecimal, with an exponent,
    infinity or not a number; 0.0 for none.
    """
    match = _DOUBLE.match(text)
    if match is None:
        return 0.0
    number = match[0].strip(BLANKS)
    try:
        return float.fromhex(number) if match[1] else float(number)
    except OverflowError:
        return float("-inf" if number[0] == "-" else "inf")


def atoi(text: str) -> int:
    """Return the number at the start of *text* in 64 bits, truncated to 32 as in C; 0 for none."""
    return (strtol(text)[0] + (1 << 31)) % (1 << 32) - (1 << 31)


def by_length(first: str, second: str) -> int:
    """Return a number below, equal to or above 0: a shorter text is less than a longer one, then by bytes."""
    a = (len(first), first)
    b = (len(second), second)
    return (a > b) - (a < b)
