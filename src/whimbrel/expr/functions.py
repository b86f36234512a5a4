"""The functions ``name(word)``, also written ``%{name:string}``.  Manual: expr.html#functions."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Mapping
from stat import S_ISREG
from typing import TYPE_CHECKING, Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.expr.errors import EvalError
from whimbrel.expr.library import ENVIRONMENT, FILES, HEAD, NOTHING, ExprFunction

if TYPE_CHECKING:
    from whimbrel.expr.evaluation import Evaluation

_UPPER: Final = str.maketrans({chr(c): chr(c - 32) for c in range(97, 123)})
_LOWER: Final = str.maketrans({chr(c): chr(c + 32) for c in range(65, 91)})
_UNSAFE = re.compile(r"[^A-Za-z0-9$\-_.+!*'(),:@&=/~;]")
_LDAP = re.compile(r"[\x00-\x1f\x7f-\xff*()\\]")
_PERCENT = re.compile(r"%(?:([0-9A-Fa-f]{2})|)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")


# tables -------------------------------------------------------------------------------------------
def entry(table: Mapping[str, str], name: str) -> str | None:
    """Return a value of one of httpd's tables, whose names are case-insensitive."""
    value = table.get(name)
    if value is None and table and not getattr(table, "folded", False):
        low = name.lower()
        value = next((found for key, found in table.items() if key.lower() == low), None)
    return value


def _system(name: str) -> str | None:
    value = os.environ.get(os.fsdecode(to_bytes(name)))
    return None if value is None else to_text(os.fsencode(value))


def _response(e: Evaluation, name: str) -> str | None:
    e.request.deps.on_path = True  # Location may have the path; ETag and others are of the file
    if e.request.deps.clock_fields:
        e.view.set_uncacheable()  # the field may depend on the clock
    value: str | None = e.request.headers_out.get(name)
    if value is None:
        value = e.request.err_headers_out.get(name)
    return value


def _note(e: Evaluation, name: str) -> str | None:
    e.request.deps.on_path = True  # some notes have the path
    return entry(e.request.notes, name)


def _anywhere(e: Evaluation, name: str) -> str | None:
    """``env``: a note, else a variable of the request, else one of the system."""
    value = _note(e, name)
    if value is None:
        value = entry(e.request.env, name)
    return _system(name) if value is None else value


def _untracked_field(e: Evaluation, name: str) -> str | None:
    value: str | None = e.request.headers_in.get(name)
    return value


# texts --------------------------------------------------------------------------------------------
def escape(value: str) -> str:
    """Return the percent-encoded path, in lower-case digits (ap_escape_uri)."""
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02x}", value)


def unescape(value: str) -> tuple[str, str]:
    """Return the path decoded but ``%2f``, and "", "Bad" for a broken escape, "Forbidden" for NUL."""
    bad = False
    forbidden = False

    def decoded(match: re.Match[str]) -> str:
        nonlocal bad, forbidden
        digits = match[1]
        if digits is None:
            bad = True
            return "%"
        if digits.lower() == "2f":
            return match[0]
        forbidden = forbidden or digits == "00"
        return chr(int(digits, 16))

    out = _PERCENT.sub(decoded, value)
    if bad:
        return out, "Bad"
    return out, "Forbidden" if forbidden else ""


def _unescape(e: Evaluation, value: str) -> str:
    out, problem = unescape(value)
    if problem:
        e.view.debug(f"{problem} % escape in unescape('{value}')", "AH00538")
        return ""
    return out


def decode_base64(value: str) -> str:
    """Decode the longest base64 prefix of *value*, padded or not; a NUL ends the text."""
    match = _BASE64.match(value)
    good = match[0] if match else ""
    if len(good) % 4 == 1:
        good = good[:-1]
    return to_text(binascii.a2b_base64(good + "=" * (-len(good) % 4))).partition("\0")[0]


def _ldap(value: str) -> str:
    return _LDAP.sub(lambda match: f"\\{ord(match[0]):02x}", value)


# files --------------------------------------------------------------------------------------------
def _file(e: Evaluation, path: str) -> str:
    """Return the content of a file up to a NUL; the evaluation fails if it cannot be read."""
    e.request.deps.stat(path)
    try:
        return to_text(read_regular(to_bytes(e.request.deps.on_disk(path)))).partition("\0")[0]
    except IsADirectoryError:
        raise EvalError(f"Cannot read from file {path}") from None
    except (OSError, ValueError):
        raise EvalError(f"Cannot open file {path}") from None


def _file_size(e: Evaluation, path: str) -> str:
    info = e.request.deps.stat(path)
    return str(info.st_size) if info is not None and S_ISREG(info.st_mode) else "0"


def _pure(call: object) -> ExprFunction:
    return ExprFunction(lambda _e, value: call(value), NOTHING)  # type: ignore[operator]


_ENVIRONMENT: Final = frozenset({ENVIRONMENT})

FUNCTIONS: Final[dict[str, ExprFunction]] = {
    "req": ExprFunction(lambda e, name: e.field(name)),
    "http": ExprFunction(lambda e, name: e.field(name)),
    "req_novary": ExprFunction(_untracked_field),
    "resp": ExprFunction(_response),
    "reqenv": ExprFunction(lambda e, name: entry(e.request.env, name), _ENVIRONMENT),
    "osenv": ExprFunction(lambda _e, name: _system(name), NOTHING),
    "note": ExprFunction(_note),
    "env": ExprFunction(_anywhere, _ENVIRONMENT | {HEAD}),
    "tolower": _pure(lambda value: value.translate(_LOWER)),
    "toupper": _pure(lambda value: value.translate(_UPPER)),
    "escape": _pure(escape),
    "unescape": ExprFunction(_unescape, NOTHING),
    "base64": _pure(lambda value: to_text(base64.b64encode(to_bytes(value)))),
    "unbase64": _pure(decode_base64),
    "md5": _pure(lambda value: hashlib.md5(to_bytes(value), usedforsecurity=False).hexdigest()),
    "sha1": _pure(lambda value: hashlib.sha1(to_bytes(value), usedforsecurity=False).hexdigest()),
    "ldap": _pure(_ldap),
    "file": ExprFunction(_file, frozenset({FILES}), restricted=True),
    "filesize": ExprFunction(_file_size, frozenset({FILES}), restricted=True),
}
"""Functions by name in lower case; names are case-insensitive."""
