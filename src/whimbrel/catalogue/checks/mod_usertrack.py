"""mod_usertrack's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, one_of

TYPES = ("y", "mo", "w", "d", "h", "mi", "s")


def _expires(words: list[str], around: Around) -> str | None:
    """Seconds, which is what begins and ends in a digit, or pairs of a number and a type after an optional "plus"."""
    text = words[0]
    if text[:1].isdigit() and text[-1:].isdigit():
        return None
    parts = text.split()
    if parts and parts[0][:1].lower() == "p":
        parts = parts[1:]
    for number, kind in zip(parts[::2], [*parts[1::2], ""], strict=False):
        if not number[0].isdigit():
            return "bad expires code, numeric value expected."
        if not kind:
            return "bad expires code, missing <type>"
        if not kind.lower().startswith(TYPES):
            return "bad expires code, unrecognized type"
    return None


def _domain(words: list[str], around: Around) -> str | None:
    if not words[0].startswith("."):
        return "CookieDomain values must begin with a dot"
    return None if "." in words[0][1:] else "CookieDomain values must contain at least one embedded dot"


CHECKS: dict[str, Rule] = {
    "cookieexpires": _expires,
    "cookiedomain": _domain,
    "cookiestyle": one_of("netscape cookie rfc2109 cookie2 rfc2965", "Invalid CookieStyle keyword: '{0}'"),
    "cookiesamesite": one_of("strict lax none", "CookieSameSite accepts 'Strict', 'Lax', or 'None'"),
}
