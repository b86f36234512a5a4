"""Tokens of field values, as httpd delimits them."""

from __future__ import annotations

from whimbrel.base.numbers import is_blank, split
from whimbrel.http.semantics.headers import Headers


def get_token(text: str, with_blanks: bool = False) -> tuple[str, str]:
    """Return the next token up to a comma, a semicolon or (unless *with_blanks*) a blank, and the rest.

    Quoted parts are skipped (ap_get_token).
    """
    text = text.lstrip(" \t\n\v\f\r")
    at = 0
    while at < len(text) and text[at] not in ";,":
        if text[at] == '"':
            closing = text.find('"', at + 1)
            at = len(text) if closing < 0 else closing
            if at == len(text):
                break
        elif not with_blanks and is_blank(text[at]):
            break
        at += 1
    return text[:at], text[at:].lstrip(" \t\n\v\f\r")


def connection_names(fields: Headers, *, version22: bool) -> list[str]:
    """Return the names that Connection lists; 2.4 separates them by semicolons too."""
    names = " ".join(fields.get_all("Connection")).replace(",", " ")
    return split(names if version22 else names.replace(";", " "))
