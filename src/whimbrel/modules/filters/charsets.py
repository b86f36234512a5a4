"""Character sets that libxml2 knows: their names, and documents that begin in one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from whimbrel.base.numbers import split, upper

UTF_8: Final = "UTF-8"
# names that xmlParseCharEncoding knows, with libxml2's own name of the encoding
_ALIKE: Final = {
    "UTF-8": "UTF8",
    "UTF-16": "UTF16",
    "ISO-10646-UCS-2": "UCS-2 UCS2",
    "ISO-10646-UCS-4": "UCS-4 UCS4",
    "ISO-8859-1": "ISO-LATIN-1",
    "ISO-8859-2": "ISO-LATIN-2",
    **{f"ISO-8859-{number}": "" for number in range(3, 10)},
    "ISO-2022-JP": "",
    "SHIFT_JIS": "",
    "EUC-JP": "",
}
BUILT_IN: Final = {name: own for own, names in _ALIKE.items() for name in (own, *split(names))} | {
    "ISO LATIN 1": "ISO-8859-1",
    "ISO LATIN 2": "ISO-8859-2",
}
_OTHER_NAMES: Final = {"ISO-10646-UCS-2": "UTF-16LE", "ISO-10646-UCS-4": "UTF-32BE"}
# first bytes (xmlDetectCharEncoding), libxml2's name, iconv's name
_SIGNATURES: Final = (
    (b"\0\0\0<", "ISO-10646-UCS-4", "UTF-32BE"),
    (b"<\0\0\0", "ISO-10646-UCS-4", "UTF-32LE"),
    (b"Lo\xa7\x94", "EBCDIC", "IBM500"),
    (b"<?xm", UTF_8, UTF_8),
    (b"<\0?\0", "UTF-16", "UTF-16LE"),
    (b"\0<\0?", "UTF-16", "UTF-16BE"),
    (b"\xef\xbb\xbf", UTF_8, UTF_8),
    (b"\xfe\xff", "UTF-16", "UTF-16BE"),
    (b"\xff\xfe", "UTF-16", "UTF-16LE"),
)


def built_in(name: str, aliases: Mapping[str, str]) -> str:
    """Return libxml2's name of the charset *name*, "" if it has none (xmlParseCharEncoding).

    *aliases* are those of xml2EncAlias by upper-case name.
    """
    return BUILT_IN.get(upper(aliases.get(upper(name), name)), "")


def iconv_name(own: str) -> str:
    """Return iconv's name of a charset under libxml2's name."""
    return _OTHER_NAMES.get(own, own)


def detected(start: bytes) -> tuple[str, str] | None:
    """Return libxml2's and iconv's names of the charset that a document begins in; None if it shows none."""
    if len(start) < 4:
        return None
    for signature, own, name in _SIGNATURES:
        if start.startswith(signature):
            return own, name
    return None
