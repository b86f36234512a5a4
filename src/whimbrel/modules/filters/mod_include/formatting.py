"""Text conversions of elements: encodings, entities, sizes and times. Manual:
mod/mod_include.html#element.echo.
"""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Callable
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import is_digits
from whimbrel.http.syntax.url import escape_form, escape_html, escape_uri, unescape_loose
from whimbrel.modules.generators.mod_autoindex.page import size_text

_ENTITY = re.compile(r"&(?:#([^;]*)|([A-Za-z][A-Za-z0-9]{1,5}));")
# Letters of Latin-1 and the basic entities; httpd has no names for Latin-1's symbols.
_NAMED: Final = {
    "lt": "<",
    "gt": ">",
    "amp": "&",
    "quot": '"',
    **{
        name: chr(code)
        for code, name in enumerate(
            (
                "Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml "
                "Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml "
                "- Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml "
                "aring aelig ccedil egrave eacute ecirc euml igrave iacute "
                "icirc iuml eth ntilde ograve oacute ocirc otilde ouml "
                "- oslash ugrave uacute ucirc uuml yacute thorn yuml"
            ).split(),
            192,
        )
        if name != "-"
    },
}
_BASE64 = re.compile(r"[A-Za-z0-9+/]*")
_SEPARATORS = re.compile(r"[, \t]+")


def decode_entities(value: str) -> str:
    """Decode entities of Latin-1; numbers of unprintable characters vanish, unknown names stay."""
    if "&" not in value:
        return value
    end = value.rfind(";") + 1  # behind which each `&#` would be searched up to the end
    return _ENTITY.sub(_character, value[:end]) + value[end:]


def _character(match: re.Match[str]) -> str:
    if match[1] is not None:
        code = int(match[1]) if is_digits(match[1]) and len(match[1]) < 10 else 0
        return chr(code) if code in (9, 10) or 32 <= code < 127 or 160 < code < 256 else ""
    return _NAMED.get(match[2], match[0])


def _from_base64(value: str) -> str:
    """Decode the longest valid prefix of base64."""
    good = _BASE64.match(value)
    digits = good[0] if good else ""
    return to_text(base64.b64decode(to_bytes(digits + "A" * (-len(digits) % 4)))[: len(digits) * 6 // 8])


def _to_base64(value: str) -> str:
    return base64.b64encode(to_bytes(value)).decode("ascii")


def _from_form(value: str) -> str:
    return unescape_loose(value.replace("+", " "))


Change = Callable[[str], str]
DECODINGS: Final[dict[str, Change]] = {
    "none": str,
    "url": unescape_loose,
    "urlencoded": _from_form,
    "entity": decode_entities,
    "base64": _from_base64,
}
ENCODINGS: Final[dict[str, Change]] = {
    "none": str,
    "url": escape_uri,
    "urlencoded": escape_form,
    "entity": escape_html,
    "base64": _to_base64,
}


def entities_22(value: str) -> str:
    """Encode entities as 2.2, which encodes everything beyond ASCII."""
    return escape_html(value, ascii_only=True)


ENCODINGS_22: Final[dict[str, Change]] = {"none": str, "url": escape_uri, "entity": entities_22}


def changed(value: str, names: str, known: dict[str, Change]) -> str:
    """Apply the conversions *names* (between commas or blanks) in order; KeyError for unknown ones."""
    for name in _SEPARATORS.split(names):
        if name:
            change = known.get(name.lower())
            if change is None:
                raise KeyError(name)
            value = change(value)
    return value


def formatted_size(size: int, in_bytes: bool) -> str:
    """Format a file's size: ``2.0K``, or with *in_bytes* ``2,048``."""
    return f"{size:,}" if in_bytes else size_text(size)


def formatted_time(seconds: float, form: str, *, gmt: bool = False) -> str:
    """Format a time with strftime(3) in local time or GMT."""
    when = time.gmtime(seconds) if gmt else time.localtime(seconds)
    if gmt:
        form = re.sub("%(%|Z)", lambda match: "GMT" if match[1] == "Z" else "%%", form)
    return time.strftime(form.replace("\0", ""), when)
