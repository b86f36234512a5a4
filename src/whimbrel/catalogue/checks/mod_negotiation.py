"""mod_negotiation's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule


def _force(words: list[str], around: Around) -> str | None:
    """None alone, or Prefer and Fallback."""
    word, earlier = words[0].lower(), [w.lower() for w in around.earlier]
    if word == "none":
        return "Cannot combine ForceLanguagePriority options with None" if set(earlier) - {"none"} else None
    if word not in ("prefer", "fallback"):
        return f"Invalid ForceLanguagePriority option {words[0]}"
    return f"Cannot combine ForceLanguagePriority options None and {words[0]}" if "none" in earlier else None


CHECKS: dict[str, Rule] = {"forcelanguagepriority": _force}
