"""X01: Options with and without signs on one line are an error. Document: documents/X01-mixed-options.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

NAMES: Final = {
    "indexes": "Indexes",
    "includes": "Includes",
    "includesnoexec": "IncludesNOEXEC",
    "followsymlinks": "FollowSymLinks",
    "symlinksifownermatch": "SymLinksIfOwnerMatch",
    "execcgi": "ExecCGI",
    "multiviews": "MultiViews",
}
ALL: Final = ("Indexes", "Includes", "FollowSymLinks", "ExecCGI")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line that 2.4 refuses and 2.2 accepts."""
    for line in tree.named("options"):
        words = [word for word in line.words() if word]
        known = [word.lstrip("+-").lower() for word in words]
        if (
            words
            and accepted(words) is False
            and all(word in (*NAMES, "all", "none", "runscripts") for word in known)
        ):
            text = as_22_took(words)
            yield Finding(
                "X01",
                line.place,
                f"Options mixes arguments with and without sign: 2.4 {line.file.refusal} with it",
                f"write the options that 2.2 read: {text}",
                Risk.BREAKS,
                Safety.SAFE,
                (line.replace_args(text),),
            )


def accepted(words: list[str]) -> bool:
    """Return True if 2.4 accepts the line: all signed, none signed, or None or All first with signed options
    after it."""
    first = words[0].lower()
    rest = words[1:] if first in ("none", "all") else words
    if any(word.lstrip("+-").lower() in ("none", "all") for word in rest):
        return False
    signed = [word[0] in "+-" for word in rest]
    if first in ("none", "all"):
        return all(signed) or not any(signed)
    return len(set(signed)) < 2


def as_22_took(words: list[str]) -> str:
    """Return the options as 2.2 reads them.

    The first unsigned option clears all before it, and the result counts; without unsigned options the signs
    stay.
    """
    on: set[str] = set()
    added: dict[str, str] = {}
    plain = False
    for word in words:
        sign, name = (word[0], word[1:]) if word[0] in "+-" else ("", word)
        if not sign and not plain:
            plain = True
            on = set()
        for option in _options(name):
            (on.discard if sign == "-" else on.add)(option)
            added[option] = sign
    if plain:
        return " ".join(name for name in NAMES.values() if name in on) or "None"
    return " ".join(f"{sign}{name}" for name, sign in added.items())


def _options(name: str) -> tuple[str, ...]:
    low = name.lower()
    if low == "all":
        return ALL
    if low == "runscripts":
        return ("ExecCGI", "MultiViews")
    return (NAMES[low],) if low in NAMES else ()


RULE = Rule("X01", "mixed-options", "Options with and without signs are not mixed", check)
