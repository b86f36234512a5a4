"""mod_allowmethods' argument rules; methods of RegisterHttpMethod are unknown here."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule

METHODS = frozenset((
    "GET HEAD PUT POST DELETE CONNECT OPTIONS TRACE PATCH PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK VERSION-CONTROL CHECKOUT UNCHECKOUT "
    "CHECKIN UPDATE LABEL REPORT MKWORKSPACE MKACTIVITY BASELINE-CONTROL MERGE"
).split())


def _methods(words: list[str], around: Around) -> str | None:
    """Methods, or the single word reset."""
    if not words or not words[0]:
        return "AllowMethods: No method or 'reset' keyword given"
    if len(words) == 1 and words[0].lower() == "reset":
        return None
    return next((f"AllowMethods: Invalid Method '{word}'" for word in words if word not in METHODS), None)


CHECKS: dict[str, Rule] = {"allowmethods": _methods}
