"""X01: Options with and without signs on one line are an error. Document: documents/X01-mixed-options.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.config.core_config import OPT_INC_WITH_EXEC, OPT_INCLUDES
from whimbrel.modules.core.overrides import OPTIONS
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

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
_ORDER: Final = list(NAMES.values())
_INCLUDES: Final = ("Includes", "IncludesNOEXEC")
_SSI: Final = OPT_INCLUDES | OPT_INC_WITH_EXEC


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
            lines = as_22_took(words)
            advice = f"write the options that 2.2 read: {lines[-1]}"
            if len(lines) > 1:
                written = ", then ".join(f"Options {text}" for text in lines)
                advice = f"write what 2.2 read: {written}; the signed ones hold again in sections below"
            yield Finding(
                "X01",
                line.place,
                f"Options mixes arguments with and without sign: 2.4 {line.file.refusal} with it",
                advice,
                Risk.BREAKS,
                Safety.SAFE,
                (line.replace_args(lines[0]), *_further(line, lines[1:])),
            )


def _further(line: Statement, lines: list[str]) -> Iterator[FileEdit]:
    """Yield the edit that adds *lines* of arguments below *line*, if there are some."""
    if lines:
        yield line.insert_after(f"Options {text}" for text in lines)


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


def as_22_took(words: list[str]) -> list[str]:
    """Return the arguments of Options lines that leave what 2.2's set_options leaves of *words*.

    That is a value, and what + and - arguments added and removed. The first unsigned word clears the value
    alone: the signed ones, also those before it, change the value again in each section below that is merged
    without unsigned words of its own. They stand on a line of their own where that makes a difference.
    """
    value = 0
    added = 0
    removed = 0
    signed: dict[str, str] = {}
    plain = False
    for word in words:
        sign, name = (word[0], word[1:]) if word[0] in "+-" else ("", word)
        bits = OPTIONS[name.lower()]
        if not sign and not plain:
            plain = True
            value = 0
        if sign == "-":
            value, added, removed = value & ~bits, added & ~bits, removed | bits
        else:
            value |= bits
        if sign == "+":
            added, removed = added | bits, removed & ~bits
        for option in _options(name) if sign else ():
            signed.pop(option, None)
            signed[option] = sign
    of_signs = " ".join(f"{sign}{name}" for name, sign in signed.items())
    if not plain:
        return [of_signs]
    is_exec_left = value & _SSI == OPT_INC_WITH_EXEC
    lines = [_names_of(value | (OPT_INCLUDES if is_exec_left else 0))]
    if is_exec_left:
        lines.append("-IncludesNOEXEC")
    # a child's +IncludesNOEXEC takes exec away, and an outer +Includes gives it to the grandchildren again
    is_lasting = added & ~value or removed & value or added & OPT_INC_WITH_EXEC or is_exec_left
    return [of_signs, *lines] if is_lasting else lines


def _names_of(value: int) -> str:
    """Return the unsigned words for the bits of *value*."""
    names = [name for name in NAMES.values() if name not in _INCLUDES and OPTIONS[name.lower()] & value]
    if value & OPT_INCLUDES:
        names.append("Includes" if value & OPT_INC_WITH_EXEC else "IncludesNOEXEC")
    return " ".join(sorted(names, key=_ORDER.index)) or "None"


def _options(name: str) -> tuple[str, ...]:
    low = name.lower()
    if low == "all":
        return ALL
    if low == "runscripts":
        return ("ExecCGI", "MultiViews")
    return (NAMES[low],) if low in NAMES else ()


RULE = Rule("X01", "mixed-options", "Options with and without signs are not mixed", check)
