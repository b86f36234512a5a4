"""ProxyHTMLMeta: copies META elements with http-equiv to response fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.engine.request import Request
from whimbrel.modules.filters.meta_tags import meta_tags

_META: Final = compile(rb"(?i)<meta")
_EQUIV: Final = b"http-equiv"
_NAME: Final = compile(rb"[^A-Za-z]*([A-Za-z0-9-]*)")
_CONTENT: Final = compile(rb"(?i)content")
# A quoted value may have a ">"; one without its closing quote is skipped.
_VALUE: Final = compile(rb"""\s*=\s*(?:'([^']*)'|"([^"]*)"|(?!['"])([^\s>]*))""", re.ASCII)
MAX_FIELDS: Final = 100  # fields copied from one document; httpd has no bound


def copy_fields(r: Request, start: bytes) -> tuple[int, int] | None:
    """Set the fields that *start*, the first bytes of the body, contains.

    Return the position of the last Content-Type element, which is not parsed; None without one.
    """
    where = None
    text = start[4:].partition(b"\0")[0]
    for start_of_tag, end, name_end in islice(_elements(text), MAX_FIELDS):
        named = _NAME.match(text, name_end + 1)
        name = named[1] if named is not None else b""
        if name[:12].lower() == b"content-type":
            where = (start_of_tag + 4, end + 4)
        elif name and name[:8].lower() != b"content-":
            content = _CONTENT.search(text, start_of_tag, end)  # the first one, in a name, too
            found = _VALUE.match(text, content.end()) if content is not None else None
            if found is not None:
                value = found[found.lastindex or 0]
                if not value.translate(None, b"\t") or _is_safe(value):
                    r.headers_out.set(name.decode("latin-1"), value.decode("latin-1"))
    return where


def _elements(text: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of each META tag with http-equiv, and the end of its last http-equiv."""
    for start, end in meta_tags(text, _META.search):
        at = text[start:end].lower().rfind(_EQUIV)
        if at >= 0:
            yield start, end, start + at + len(_EQUIV)


def _is_safe(value: bytes) -> bool:
    """Return True if *value* has no control character, which would end the field."""
    return all(byte >= 32 or byte == 9 for byte in value)
