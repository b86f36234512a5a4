"""X09: values that 2.2 accepts and 2.4 refuses. Document: documents/X09-lenient-values.md"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.catalogue import DirectiveEntry, catalogue
from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.core.x01_mixed_options import NAMES
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

REMOVE: Final = "remove the line"
TOKENS: Final = frozenset({"full", "os", "min", "minimal", "major", "minor", "prod", "productonly"})
LISTS: Final = frozenset({"ITERATE"})
MAX_ARGS: Final = {
    "NO_ARGS": 0,
    "FLAG": 1,
    "TAKE1": 1,
    "TAKE12": 2,
    "TAKE2": 2,
    "TAKE23": 3,
    "TAKE3": 3,
    "TAKE13": 3,
    "TAKE123": 3,
}


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every value that the tables below list."""
    for name, fix_value in VALUES.items():
        for line in tree.named(name):
            wanted = fix_value(line.args.strip())
            if wanted is not None:
                yield _finding(tree, line, wanted)
    yield from _counted(tree)


def _finding(tree: ConfigTree, line: Statement, wanted: str) -> Finding:
    if wanted == REMOVE:
        return Finding(
            "X09",
            line.place,
            f"2.4 refuses `{line.node.name} {line.args.strip()}`, which had no effect in 2.2",
            REMOVE,
            Risk.BREAKS,
            Safety.SAFE,
            replace_statement(tree, line),
            decision="Can the line go, which never had an effect?",
            answers=("yes: upgrade removes it", "no: write in the new text what it was meant to do"),
        )
    return Finding(
        "X09",
        line.place,
        f"2.4 refuses `{line.node.name} {line.args.strip()}`",
        f"write the value that 2.2 used: {wanted}",
        Risk.BREAKS,
        Safety.SAFE,
        (line.replace_args(wanted),),
    )


# values ------------------------------------------------------------------------------------------
def _seconds(text: str) -> str | None:
    """KeepAliveTimeout: 2.2 reads leading digits as seconds, no digits as 0; a negative value has
    no timeout."""
    word = text.strip('"')
    if re.fullmatch("[0-9]+", word) or " " in word or not word:
        return None
    if re.match("-0*[1-9]", word):
        return "86400"
    digits = re.match(r"\+?([0-9]+)", word)
    return digits[1] if digits else "0"


def _tokens(text: str) -> str | None:
    return None if text.strip('"').lower() in TOKENS or not text else "Full"


def _override(text: str) -> str | None:
    """AllowOverride Options=LIST: in 2.2 the first unknown option ends the list."""

    def fix_word(word: str) -> str:
        key, equals, value = word.partition("=")
        if key.lower() != "options" or not equals:
            return word
        good = []
        for option in value.split(","):
            if option.lower() not in (*NAMES, "all", "none", "runscripts", ""):
                break
            good.append(option)
        return f"{key}={','.join(good) or 'None'}"

    fixed = " ".join(fix_word(word) for word in text.split())
    return fixed if fixed != " ".join(text.split()) else None


def _buffer(text: str) -> str | None:
    """ProxyIOBufferSize below 512: 2.2 uses its default size."""
    return "0" if re.fullmatch("[0-9]+", text) and 0 < int(text) < 512 else None


def _document(text: str) -> str | None:
    """ErrorDocument for a status that 2.4 lacks, and text that 2.4 parses as an expression."""
    code, _, rest = text.partition(" ")
    if code in ("418", "419", "420", "425", "427", "430"):
        return REMOVE
    rest = rest.strip()
    if rest[:1] != '"' and not _is_text(rest):
        return None
    fixed = re.sub(r"(?<!\\)%(?=\{)|(?<!\\)\$(?=[0-9])", r"\\\g<0>", rest)
    return f"{code} {fixed}" if fixed != rest else None


def _is_text(value: str) -> bool:
    """Return True for text without quotes: neither a path nor a URL."""
    return bool(value) and value[0] != "/" and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", value)


VALUES: Final[dict[str, Callable[[str], str | None]]] = {
    "keepalivetimeout": _seconds,
    "servertokens": _tokens,
    "allowoverride": _override,
    "proxyiobuffersize": _buffer,
    "errordocument": _document,
}


# numbers of words --------------------------------------------------------------------------------
def _counted(tree: ConfigTree) -> Iterator[Finding]:
    """Lines with more arguments than 2.4 accepts, or with none where it requires a list."""
    catalogue_22 = catalogue("2.2")
    catalogue_24 = catalogue("2.4")
    seen: dict[str, tuple[str, str] | None] = {}
    for line in tree.all_statements():
        if line.is_section or line.in_22 is False or line.in_24 is False or line.name in VALUES:
            continue
        if line.name not in seen:
            seen[line.name] = _shapes(catalogue_22.find(line.name), catalogue_24.find(line.name))
        shapes = seen[line.name]
        wanted = _by_count(line, *shapes) if shapes is not None else None
        if wanted is not None:
            yield _finding(tree, line, wanted)


def _shapes(
    entries_22: tuple[DirectiveEntry, ...], entries_24: tuple[DirectiveEntry, ...]
) -> tuple[str, str] | None:
    """Return the forms of the arguments that matter here."""
    if not entries_22 or not entries_24:
        return None
    before = entries_22[0].args
    after = entries_24[0].args
    fewer = MAX_ARGS.get(after, 99) < MAX_ARGS.get(before, -1) or (
        before == "FLAG" and after not in ("FLAG", "RAW_ARGS")
    )
    return (before, after) if after in LISTS or fewer else None


def _by_count(line: Statement, before: str, after: str) -> str | None:
    words = line.words()
    if after in LISTS and before in LISTS:
        return REMOVE if not any(words) and len(words) < 2 else None
    if len(words) > MAX_ARGS.get(after, 99) or (before == "FLAG" and len(words) > 1):
        return (
            words[0]
            if before == "FLAG"
            else " ".join(_quoted(word) for word in words[: MAX_ARGS.get(after, 1)])
        )
    return None


def _quoted(word: str) -> str:
    return f'"{word}"' if not word or set(" \t'") & set(word) else word


RULE = Rule("X09", "lenient-values", "Values that 2.2 let pass", check)
