"""The format ``whimbrel_json`` of CustomLog: one JSON object a line.

An extension: httpd writes the name itself, as it does for any format that is not defined. A LogFormat line
that defines the name is followed.
"""

from __future__ import annotations

from json.encoder import encode_basestring_ascii

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.static_typing import Final
from whimbrel.http.syntax.url import unescape_logitem
from whimbrel.modules.loggers.mod_log_config.items import KINDS
from whimbrel.modules.loggers.mod_log_config.writer import JsonForm, LogItem, Piece

_TIME: Final = "%Y-%m-%dT%H:%M:%S%z"
_EMPTY_USER: Final = '""'
"""A user without a name, in lines of httpd: no other value has quotes without a backslash."""


def json_text(value: str | None) -> str:
    """Return a JSON string of the bytes of *value*, an item of httpd, in ASCII; null for None.

    Bytes that are UTF-8 are its characters, others are written as httpd does: ``\\xhh``.
    """
    if value is None:
        return "null"
    plain = "" if value == _EMPTY_USER else unescape_logitem(value)
    if not plain.isascii():
        plain = to_bytes(plain).decode("utf-8", "backslashreplace")
    return encode_basestring_ascii(plain)


def json_number(value: str | None) -> str:
    """Return the digits of *value*; null for None."""
    return "null" if value is None else value


_FIELDS: Final = (
    ("time", "t", _TIME, json_text),
    ("client", "a", "", json_text),
    ("user", "u", "", json_text),
    ("server", "v", "", json_text),
    ("port", "p", "", json_number),
    ("request", "r", "", json_text),
    ("method", "m", "", json_text),
    ("protocol", "H", "", json_text),
    ("status", "s", "", json_number),
    ("bytes", "B", "", json_number),
    ("duration_us", "D", "", json_number),
    ("referer", "i", "Referer", json_text),
    ("user_agent", "i", "User-Agent", json_text),
)
"""Key, letter of the format and its argument, and the form of the value."""


def json_items() -> tuple[Piece, ...]:
    """Return the pieces of a line."""
    pieces: list[Piece] = []
    opening = "{"
    for key, letter, argument, form in _FIELDS:
        pieces.append(f'{opening}"{key}":')
        pieces.append(_item(letter, argument, form))
        opening = ","
    return (*pieces, "}")


def _item(letter: str, argument: str, form: JsonForm) -> LogItem:
    kind = KINDS[letter]
    is_final = letter == "s"  # %>s: the status that the client got
    return LogItem(
        kind.fn,
        argument,
        original=kind.original and not is_final,
        dynamic=kind.dynamic,
        is_stable=kind.is_stable,
        sized=kind.sized,
        reads_path=kind.reads_path,
        json=form,
    )
