"""Numbers with their nouns and verbs, as reports write them."""

from __future__ import annotations


def count_noun(number: int, singular: str, plural: str = "") -> str:
    """Return ``1 file``, ``2 files``, ``1,200 files``."""
    return f"{number:,} {word_for(number, singular, plural)}"


def and_more(number: int) -> str:
    """Return `` and 1,200 more`` behind what is named, "" for no more."""
    return f" and {number:,} more" if number else ""


def word_for(number: int, singular: str, plural: str = "") -> str:
    """Return the form of a noun or verb that agrees with *number*; *plural* is *singular* with an s if ""."""
    return singular if number == 1 else plural or f"{singular}s"
