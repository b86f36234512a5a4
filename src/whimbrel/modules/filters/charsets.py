"""Character sets as mod_xml2enc sees them: those that libxml2 has built in, and codecs in place of iconv."""

from __future__ import annotations

import codecs
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
_CODECS: Final = {"ISO-10646-UCS-2": "utf-16-le", "ISO-10646-UCS-4": "utf-32-be", "UTF-16": "utf-16"}
# first bytes (xmlDetectCharEncoding), libxml2's name, codec
_SIGNATURES: Final = (
    (b"\0\0\0<", "ISO-10646-UCS-4", "utf-32-be"),
    (b"<\0\0\0", "ISO-10646-UCS-4", "utf-32-le"),
    (b"Lo\xa7\x94", "EBCDIC", "cp500"),
    (b"<?xm", UTF_8, "utf-8"),
    (b"<\0?\0", "UTF-16", "utf-16-le"),
    (b"\0<\0?", "UTF-16", "utf-16-be"),
    (b"\xef\xbb\xbf", UTF_8, "utf-8"),
    (b"\xfe\xff", "UTF-16", "utf-16-be"),
    (b"\xff\xfe", "UTF-16", "utf-16-le"),
)


# modules of the standard library with the charsets that documents have; workers cannot import others if they
# lack the right to read them
LIBRARIES: Final = tuple(
    f"encodings.{name}"
    for name in (
        "ascii utf_8 utf_7 utf_16 utf_16_le utf_16_be utf_32 utf_32_le utf_32_be latin_1 "
        "iso8859_1 iso8859_2 iso8859_3 iso8859_4 iso8859_5 iso8859_6 iso8859_7 iso8859_8 "
        "iso8859_9 iso8859_10 iso8859_11 iso8859_13 iso8859_14 iso8859_15 iso8859_16 cp1250 "
        "cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp437 cp500 cp850 cp852 cp866 "
        "cp874 cp932 cp949 cp950 koi8_r koi8_u mac_roman shift_jis euc_jp iso2022_jp euc_kr "
        "johab gb2312 gbk gb18030 hz big5 big5hkscs tis_620"
    ).split()
)


def built_in(name: str, aliases: Mapping[str, str]) -> str:
    """Return libxml2's name of the charset *name*, "" if it has none (xmlParseCharEncoding).

    *aliases* are those of xml2EncAlias by upper-case name.
    """
    return BUILT_IN.get(upper(aliases.get(upper(name), name)), "")


def codec_of(own: str) -> str:
    """Return the codec of a charset under libxml2's name."""
    return _CODECS.get(own) or codecs.lookup(own).name


def detected(start: bytes) -> tuple[str, str] | None:
    """Return libxml2's name and the codec of a document by its first bytes; None if they tell nothing."""
    if len(start) < 4:
        return None
    for signature, own, codec in _SIGNATURES:
        if start.startswith(signature):
            return own, codec
    return None


def convertible(name: str) -> str:
    """Return the codec for a charset as iconv names it, "" for none."""
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return ""
    return info.name if getattr(info, "_is_text_encoding", True) else ""
