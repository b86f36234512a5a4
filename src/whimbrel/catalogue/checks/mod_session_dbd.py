"""mod_session_dbd's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, split


def _name(directive: str) -> Rule:
    """The cookie's name, and its attributes as they come."""
    def rule(words: list[str], around: Around) -> str | None:
        named = split(words[0])
        if not named:
            return f"{directive} requires at least one argument!" if directive.endswith("2") else None
        return f"{directive} cannot contain '=', ';' or '&'." if any(c in named[0] for c in "=;&") else None

    return rule


CHECKS: dict[str, Rule] = {"sessiondbdcookiename": _name("SessionDBDCookieName"), "sessiondbdcookiename2": _name("SessionDBDCookieName2")}
