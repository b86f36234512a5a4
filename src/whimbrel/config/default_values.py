"""Options and AllowOverride where no line sets them, in words; 2.2 and 2.4 differ in them (X02, C09)."""

from __future__ import annotations

from typing import Final

from whimbrel.base.dialect import Dialect

OPTIONS: Final = "Options"
ALLOW_OVERRIDE: Final = "AllowOverride"


def default_value(directive: str, dialect: Dialect) -> str:
    """Return the default of `OPTIONS` or `ALLOW_OVERRIDE`, as a line would write it."""
    if directive == OPTIONS:
        return "All" if dialect.options_default_all else "FollowSymLinks"
    return "All" if dialect.override_default_all else "None"


def default_of(dialect: Dialect, reason: str) -> str:
    """Return what is said of a default: of which version it is, and why it applies."""
    return f"the default of {dialect.name}, as {reason}"


def default_sentence(directive: str, value: str, origin: str) -> str:
    """Return the sentence about a default; *origin* is the result of `default_of`."""
    return f"{directive} {value} is {origin}"
