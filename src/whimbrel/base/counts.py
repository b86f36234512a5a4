"""Numbers with their nouns, as reports say them."""

from __future__ import annotations


def count_noun(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 file``, ``2 files``."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"
