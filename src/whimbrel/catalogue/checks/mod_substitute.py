"""mod_substitute's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import LONG_MAX, strtol
from whimbrel.catalogue.checks.rules import CheckContext, Rule, compiles

UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
PATTERN, COMPLETE = (
    "Bad Substitute format, must be an s/// pattern",
    "Bad Substitute format, must be a complete s/// pattern",
)


def _substitute(words: list[str], around: CheckContext) -> str | None:
    """s, a delimiter of any kind, pattern, replacement, flags"""
    text = words[0]
    if text[:1].lower() != "s":
        return PATTERN
    parts = text[2:].split(text[1], 2) if len(text) > 1 else []
    if len(parts) < 2 or not parts[0]:
        return COMPLETE
    flags = parts[2].lower() if len(parts) > 2 else ""
    if flags.strip("infq"):
        return "Bad Substitute flag, only s///[infq] are supported"
    return None if "n" in flags or compiles(parts[0]) else "Substitute could not compile regex"


def _line_length(words: list[str], around: CheckContext) -> str | None:
    value, unit, cut = strtol(words[0])
    if cut or value < 0 or unit.lower() not in UNITS or unit == words[0]:
        return (
            "SubstituteMaxLineLength must be a non-negative integer optionally suffixed with 'b', 'k', "
            "'m' or 'g'."
        )
    return "SubstituteMaxLineLength value too large" if value * UNITS[unit.lower()] > LONG_MAX else None


CHECKS: dict[str, Rule] = {"substitute": _substitute, "substitutemaxlinelength": _line_length}
