"""Forms as httpd's ap_parse_form_data reads them: ``application/x-www-form-urlencoded`` alone, escapes
decoded without validation of their digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import strip

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_PAIRS: Final = 65536  # bytes of separators allowed beyond the limit
_ESCAPE: Final = re.compile("%(.)(.)", re.DOTALL)


class FormTooLarge(Exception):
    """A form larger than the limit: the response is 413."""


async def read_form(r: Request, limit: int) -> dict[str, str]:
    """Return the fields of the request's form, the first of equal names; {} for a body of another type, which
    stays unread.

    Raises FormTooLarge if decoded names and values together exceed *limit* bytes.
    """
    kind = strip((r.headers_in.get("Content-Type") or "").partition(";")[0]).lower()
    if kind != "application/x-www-form-urlencoded":
        return {}
    data = bytearray()
    room = 3 * limit + _PAIRS
    while piece := await r.body_in.read():
        data += piece
        if len(data) > room:
            raise FormTooLarge
    fields: dict[str, str] = {}
    left = limit
    for pair in to_text(bytes(data)).split("&"):
        name, equals, value = pair.partition("=")
        name, value = _decoded(name), _decoded(value)
        left -= len(name) + len(value)
        if equals:
            fields.setdefault(_ended(name), _ended(value))
        if left < 0:
            raise FormTooLarge
    return fields


def decoded_pair(name: str, value: str) -> tuple[str, str]:
    """Return a name and its value decoded, each up to the first NUL."""
    return _ended(_decoded(name)), _ended(_decoded(value))


def _ended(text: str) -> str:
    """Return the text before the first NUL."""
    return text.partition("\0")[0]


def _decoded(value: str) -> str:
    return _ESCAPE.sub(lambda m: chr((_digit(m[1]) * 16 + _digit(m[2])) & 0xFF), value.replace("+", " "))


def _digit(char: str) -> int:
    code = ord(char)
    return (code & 0xDF) - ord("A") + 10 if char >= "A" else code - ord("0")
