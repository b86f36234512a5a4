"""mod_log_debug's argument rules; expressions are judged where they are compiled."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule


def _message(words: list[str], around: Around) -> str | None:
    """The message, and hook= and expr= in any order."""
    return next((f"Invalid argument {word}" for word in words[1:] if not word.lower().startswith(("hook=", "expr="))), None)


CHECKS: dict[str, Rule] = {"logmessage": _message}
