"""Random patterns of PCRE, with small changes, and the matcher of PCRE itself as the judge."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pcre2

ATOMS = (
    *("a", "b", "A", "x", "1", "_", "\\.", "/", ".", "\\-", "é", "\\x41", "\\n"),
    *("[ab]", "[^a]", "[a-c1]", "[^/]", "[[:alpha:]]", "[[:^digit:]_]", "[\\w-]", "[\\d.]", "[^\\W_]"),
    "[]a]",
    *("\\d", "\\w", "\\s", "\\D", "\\W", "\\S", "\\h", "\\Qa.\\E", "[A-Z]", "[[:upper:]]", "[^[:lower:]]"),
)
ANCHORS = ("^", "$", "\\b", "\\B", "\\A", "\\z", "\\Z", "(?i)", "")
QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,2}", "*?", "+?", "??", "{1,3}?")
LETTERS = "abABx1_./-\n é"


def pattern(chance: random.Random, depth: int = 3) -> str:
    """Return a random pattern."""
    branches = [branch(chance, depth) for _ in range(chance.choice((1, 1, 1, 1, 2)))]
    return "|".join(branches)


def branch(chance: random.Random, depth: int) -> str:
    """Return one alternative."""
    return "".join(piece(chance, depth) for _ in range(chance.choice((0, 1, 2, 3, 3, 4))))


def piece(chance: random.Random, depth: int) -> str:
    """Return one part with its quantifier."""
    kind = chance.random()
    if kind < 0.15:
        return chance.choice(ANCHORS)
    if kind < 0.35 and depth:
        text = chance.choice(("(", "(?:", "(?i:", "(?-i:")) + pattern(chance, depth - 1) + ")"
    elif kind < 0.43 and depth:
        return chance.choice(("(?=", "(?!")) + pattern(chance, depth - 1) + ")"
    elif kind < 0.48 and depth:
        return chance.choice(("(?<=", "(?<!")) + "".join(chance.choice(ATOMS) for _ in range(2)) + ")"
    else:
        text = chance.choice(ATOMS)
    return text + (chance.choice(QUANTIFIERS) if chance.random() < 0.25 else "")


def changed(chance: random.Random, text: str) -> str:
    """Return *text* with a small change, which may keep its meaning."""
    at = chance.randrange(len(text) + 1)
    return chance.choice(
        (
            text[:at] + text[at + 1 :],
            text[:at] + chance.choice(ATOMS) + text[at:],
            text.replace("\\d", "[0-9]"),
            text.replace("(", "(?:", 1) if "(?" not in text else text.lstrip("^"),
            text.lstrip("^"),
            text.rstrip("$"),
            "(?:" + text + ")",
            ".*(?:" + text + ")",
            text.replace("*", "+", 1),
            text.replace("+", "*", 1),
            text.encode("latin-1").swapcase().decode("latin-1"),
            "(?:" + text + "|" + text + "x)",
        )
    )


def word(chance: random.Random, *texts: str) -> str:
    """Return a random text; some have pieces of the patterns."""
    letters = LETTERS
    for text in texts:
        letters += "".join(one for one in text if one.isalnum())[:6]
    return "".join(chance.choice(letters) for _ in range(chance.randint(0, 8)))


def judge(text: str, *, ignore_case: bool = False) -> Callable[[str], bool] | None:
    """Return PCRE's search for a pattern without ``$``, as httpd compiles it; None for invalid patterns."""
    flags = pcre2.DOTALL | (pcre2.IGNORECASE if ignore_case else 0)
    try:
        search = pcre2.compile(text.encode("latin-1"), flags, jit=False).search
    except (pcre2.PatternError, pcre2.LibraryError):
        return None
    return lambda subject: search(subject.encode("latin-1")) is not None


def with_end(text: str) -> str:
    """Return a pattern of this module with ``\\z`` for ``$``, which no class of it has."""
    return re.sub(r"(\\.)|\$", lambda found: found[1] or r"\z", text)
