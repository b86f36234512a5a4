"""Random patterns on hostile subjects, compared with PCRE.

No search takes much longer than PCRE with its limits, and the results are equal.
"""

from __future__ import annotations

import random
import time
from typing import Any

from tests.hostile.measure import Budget, Measure, Result
from whimbrel.base.regex import RegexError, compile_regex

SLOWEST = 50.0  # times the search of PCRE's interpreter, which httpd runs
GRACE = 0.05  # seconds that any search may take on a busy machine
ATOMS = (
    "a",
    "b",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\d",
    "A",
    "aa",
    "ab",
    r"\.",
    "/",
    "[^/]",
    "x",
    "[a-z]",
    r"\s",
    "(?:a|b)",
    "(?:a|aa)",
    "(a)",
    "(a|ab)",
)
QUANTIFIERS = ("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,9}", "{2,}", "*+", "{0,30}")
UNITS = ("a", "ab", "aa", "b", "/", "a/", "aaA", "1", "a1", " ", "\n", "A", "\xe9", "x.")
SIZES = (0, 1, 5, 20, 30, 60, 250, 1000, 8000)


def pattern(chance: random.Random, depth: int = 3) -> str:
    """Return a pattern of nested groups, alternatives, quantifiers, back references and assertions."""

    def item(left: int) -> str:
        kind = chance.randrange(12)
        if kind < 5 or not left:
            atom = chance.choice(ATOMS)
        elif kind < 8:
            atom = f"({alternatives(left - 1)})"
        elif kind < 10:
            atom = f"(?:{alternatives(left - 1)})"
        elif kind == 10:
            return f"({chance.choice(('?=', '?!', '?<=', '?<!', '?>'))}{chance.choice(ATOMS)})"
        else:
            return chance.choice((r"\1", r"\b", "^", "$", r"\B"))
        return atom + chance.choice(QUANTIFIERS)

    def alternatives(left: int) -> str:
        return "|".join(
            "".join(item(left) for _ in range(chance.randint(1, 3)))
            for _ in range(chance.choice((1, 1, 1, 2, 3)))
        )

    return chance.choice(("", "^")) + alternatives(depth) + chance.choice(("", "", "$", "!"))


def subject(chance: random.Random) -> str:
    """Return a repetitive text with a different end."""
    unit = chance.choice(UNITS)
    text = unit * (chance.choice(SIZES) // len(unit))
    return text + chance.choice(("", "!", "A", "b", "\n", chance.choice(UNITS)))


def _span(found: Any) -> tuple[Any, ...] | None:
    return None if found is None else (found.start(), found.end(), found.groups())


class _Limit:
    """PCRE's interpreter with its own step limit, as in httpd, or with a higher one."""

    def __init__(self, text: str, ignore_case: bool) -> None:
        import pcre2

        self._compiled = pcre2.compile(
            text.encode("latin-1"), pcre2.DOTALL | (pcre2.IGNORECASE if ignore_case else 0), jit=False
        )
        self._gives_up = pcre2.LibraryError

    def search(self, text: str) -> tuple[Any, float, bool]:
        """Return (the match, seconds, True if it completed)."""
        data, begin = text.encode("latin-1"), time.process_time()
        try:
            found, ended = self._compiled.search(data), True
        except self._gives_up:
            found, ended = None, False
        return found, time.process_time() - begin, ended


def _end_only(text: str) -> str:
    from whimbrel.base import regex

    return regex._end_only(text, r"\z")


def run(budget: Budget) -> Result:
    """Compare `compile_regex` with PCRE's interpreter."""
    result, chance, searches, skipped, slowest, gave_up = Result(), budget.random, 0, 0, 0.0, 0
    while searches < budget.cases and not budget.is_spent:
        text, ignore_case = pattern(chance), chance.random() < 0.2
        try:
            ours = compile_regex(text, ignore_case=ignore_case)
        except RegexError:
            skipped += 1
            continue
        theirs = _Limit(_end_only(text), ignore_case)
        for _ in range(4):
            given = subject(chance)
            wanted, limited, ended = theirs.search(given)
            begin = time.process_time()
            got = _span(ours.search(given))
            taken = time.process_time() - begin
            searches += 1
            gave_up += not ended
            ratio = taken / max(limited, 1e-4)
            slowest = max(slowest, ratio if taken > GRACE else 0.0)
            where = f"{text!r}{' i' if ignore_case else ''} on {given[:30]!r} ({len(given)})"
            if taken > GRACE and ratio > SLOWEST:
                result.failures.append(f"{taken:.3f} s, PCRE {limited:.4f} s: {where}")
            if ended and got != (
                None if wanted is None else (wanted.start(), wanted.end(), _texts(wanted.groups()))
            ):
                result.failures.append(f"{got!r:.100}, PCRE {wanted!r:.100}: {where}")
    result.figures = {
        "searches": searches,
        "patterns refused": skipped,
        "PCRE gave up": gave_up,
        "slowest, times PCRE": slowest,
    }
    return result


def _texts(groups: tuple[bytes | None, ...]) -> tuple[str | None, ...]:
    return tuple(None if group is None else group.decode("latin-1") for group in groups)


MEASURES = (
    Measure(
        "regexes",
        "No search takes 50 times as long as PCRE under its limit, and where PCRE comes to an end the "
        "results are equal.",
        run,
        cases=40_000,
        seconds=300.0,
    ),
)
