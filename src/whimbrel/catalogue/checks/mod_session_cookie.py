"""mod_session_cookie's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, split

WRONG = "{} cannot be empty, or contain '=' or '&'."


def _name(directive: str) -> Rule:
    """The cookie's name, and its attributes as they come."""
    def rule(words: list[str], around: Around) -> str | None:
        named = split(words[0])
        # A quoted empty name passes the older directive.
        bad = (not named and directive.endswith("2")) or any(c in named[0] for c in "=&" if named)
        return WRONG.format(directive) if bad else None

    return rule


CHECKS: dict[str, Rule] = {"sessioncookiename": _name("SessionCookieName"), "sessioncookiename2": _name("SessionCookieName2")}
