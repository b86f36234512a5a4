"""mod_usertrack's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, one_of

TYPES = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")


def _expires(words: list[str], around: Around) -> str | None:
    """Seconds, or pairs of a number and a type after an optional "plus"."""
    parts = words[0].split()
    if len(parts) == 1 and parts[0].isdigit():
        return None
    if parts and parts[0].lower().startswith("plus"):
        parts = parts[1:]
    for number, kind in zip(parts[::2], [*parts[1::2], None], strict=False):
        if not number[0].isdigit():
            return "bad expires code, numeric value expected."
        if kind is not None and not any(name.startswith(kind.lower()) for name in TYPES):
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
