"""mod_xml2enc's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, one_of

CHARSETS = (
    "utf-8 utf8 utf-16 utf16 utf-16le utf-16be ucs-2 ucs2 ucs-4 ucs4 iso-8859-1 iso-latin-1 iso_8859-1 "
    "ascii us-ascii iso-8859-2 "
    "iso-latin-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-9 iso-2022-jp "
    "shift_jis euc-jp ebcdic html"
)
"""The encodings built into libxml2."""

CHECKS: dict[str, Rule] = {"xml2encdefault": one_of(CHARSETS, "Invalid or unsupported default charset")}
