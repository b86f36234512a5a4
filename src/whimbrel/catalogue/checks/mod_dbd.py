"""mod_dbd's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, when

DRIVERS = ("sqlite3",)
"""The drivers that stand beside APR on the recorded systems; the others are packages of their own."""

NUMERIC = when(lambda words, around: not words[0].isdigit(), "Argument must be numeric!")


def _driver(words: list[str], around: Around) -> str | None:
    if words[0] in DRIVERS:
        return None
    return f"{'DBD: ' if around.version == '2.2' else ''}Can't load driver file apr_dbd_{words[0]}.so"


CHECKS: dict[str, Rule] = {"dbdexptime": NUMERIC, "dbdkeep": NUMERIC, "dbdmax": NUMERIC, "dbdmin": NUMERIC, "dbdriver": _driver}
