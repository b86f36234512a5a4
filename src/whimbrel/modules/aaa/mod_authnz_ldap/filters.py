"""Search filters with names of clients in them: escapes (RFC 4515) and charsets.

httpd writes ``\\*``; the wire form here is ``\\2a``, which directories read in the same way.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import lower, split
from whimbrel.engine.request import Request

MAX_FILTER: Final = 8192  # httpd's FILTER_LENGTH, with the byte that ends a string
_SPECIAL: Final = re.compile(r"[*()\\]")
_UNSAFE: Final = re.compile(r"[*()\\\x00\x80-\xff]")


def shown_filter(attribute: str, user: str, wanted: str) -> str:
    """Return the filter as httpd builds and logs it."""
    name = _SPECIAL.sub(lambda match: "\\" + match[0], user)
    return _around(attribute, name, wanted)


def wire_filter(attribute: str, user: str, wanted: str) -> str:
    """Return the filter that is sent: every byte of *user* that is special or not ASCII is in hexadecimal."""
    name = _UNSAFE.sub(lambda match: "\\%02x" % ord(match[0]), user)
    return _around(attribute, name, wanted)


def _around(attribute: str, name: str, wanted: str) -> str:
    if not wanted or lower(wanted) == "none":
        return f"({attribute}={name})"
    return f"(&({wanted})({attribute}={name}))"


def in_utf8(text: str, charsets: Mapping[str, str], r: Request) -> str:
    """Return *text* of a client, converted from the charset of its first language (AuthLDAPCharsetConfig)."""
    if not charsets:
        return text
    language = r.headers_in.get_list("Accept-Language")
    if not language:
        return text
    language = re.split("[,;]", language, maxsplit=1)[0]
    charset = charsets.get(language)
    if charset is None and len(language) > 3 and language[2] == "-":
        charset = charsets.get(language[:2])
    if charset is None:
        return text
    try:
        return to_text(codecs.decode(to_bytes(text), charset).encode())
    except (LookupError, UnicodeError, ValueError):
        return text


def read_charsets(text: str) -> dict[str, str]:
    """Parse a file with a language and a charset in each line; ``#`` begins a comment."""
    found = {}
    for line in text.split("\n"):
        words = split(line)
        if len(words) > 1 and not line.startswith("#"):
            found[lower(words[0])] = words[1]
    return found
