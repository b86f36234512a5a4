"""mod_rewrite's argument rules (manual, mod_rewrite.html); RewriteCond's `expr` is judged where expressions are compiled."""

from __future__ import annotations

import os
import re

from whimbrel.catalogue.checks.numbers import atoi
from whimbrel.catalogue.checks.rules import Around, Rule, compiles, split
from whimbrel.octets import raw

FLAGS = frozenset((
    "b c chain co cookie dpi discardpath e env f forbidden g gone h handler l last n next nc nocase ne noescape ns nosubreq p proxy pt passthrough "
    "qsa qsappend r redirect s skip t type"
).split())
FLAGS24 = FLAGS | frozenset("bctls bne bnp end qsd qsdiscard qsl qslast unc unsafeallow3f unsafeprefixstat".split())
CONDITIONS = frozenset("nc nocase or ornext nv novary".split())
OPTIONS = frozenset("inherit allowanyuri mergebase".split())
OPTIONS24 = OPTIONS | frozenset((
    "inheritbefore inheritdown inheritdownbefore ignoreinherit allownoslash ignorecontextinfo legacyprefixdocroot unsafeprefixstat unsafeallow3f"
).split())
DBM = ("default", "sdbm", "gdbm", "ndbm", "db")
INTERNAL = ("tolower", "toupper", "escape", "unescape")
_NOT_REGEX = re.compile(r"<|>|=|-(?:[a-zA-Z]$|lt|le|eq|ge|gt|ne|ip)")


def _word(text: str) -> tuple[str, str]:
    """One argument of mod_rewrite's own kind: quotes hide blanks, a backslash the character after it."""
    text = text.lstrip(" \t")
    if text[:1] in ('"', "'") and text:
        quote, at = text[0], 1
        while at < len(text) and text[at] != quote:
            at += 2 if text[at] == "\\" and at + 1 < len(text) else 1
        return text[1:at], text[at + 1:]
    at = 0
    while at < len(text) and text[at] not in " \t":
        at += 2 if text[at] == "\\" and at + 1 < len(text) else 1
    return text[:at], text[at:]


def _arguments(text: str) -> tuple[str, str, str] | None:
    """The two arguments and the flags of a line; None without two."""
    one, rest = _word(text)
    if not rest.strip(" \t"):
        return None
    two, rest = _word(rest)
    return one, two, _word(rest)[0]


def _flags(flags: str) -> list[str] | None:
    """What stands between the brackets; None when they are missing."""
    return flags[1:-1].split(",") if len(flags) > 1 and flags[0] == "[" and flags[-1] == "]" else None


def _rule_flag(flag: str, around: Around) -> str | None:
    name, _, value = flag.strip().partition("=")
    if name.lower() not in (FLAGS if around.version == "2.2" else FLAGS24):
        return f"unknown flag '{name}'"
    if name.lower() == "bne" and not value:
        return "flag 'BNE' wants a list of characters (i.e. [BNE=...])"
    if name.lower() in ("r", "redirect") and value[:1].isdigit() and not 100 <= atoi(value) <= 599:
        return f"invalid HTTP response code '{value}' for flag 'R'"
    return None


def _rule(words: list[str], around: Around) -> str | None:
    found = _arguments(words[0])
    if found is None:
        return f"RewriteRule: bad argument line '{words[0]}'"
    pattern, _, flags = found
    named = _flags(flags) if flags else []
    if named is None:
        return "RewriteRule: bad flag delimiters"
    for flag in named:
        if wrong := _rule_flag(flag, around):
            return f"RewriteRule: {wrong}"
    pattern = pattern.removeprefix("!")
    return None if compiles(pattern) else f"RewriteRule: cannot compile regular expression '{pattern}'"


def _condition(words: list[str], around: Around) -> str | None:
    found = _arguments(words[0])
    if found is None:
        return f"RewriteCond: bad argument line '{words[0]}'"
    test, pattern, flags = found
    named = _flags(flags) if flags else []
    if named is None:
        return "RewriteCond: bad flag delimiters"
    for flag in named:
        if flag.strip().lower() not in CONDITIONS:
            return f"RewriteCond: unknown flag '{flag.strip()}'"
    pattern = pattern.removeprefix("!")
    if _NOT_REGEX.match(pattern) or (test.lower() == "expr" and around.version == "2.4") or compiles(pattern):
        return None
    return f"RewriteCond: cannot compile regular expression '{pattern}'"


def _option(words: list[str], around: Around) -> str | None:
    word = words[0].lower()
    good = word in (OPTIONS if around.version == "2.2" else OPTIONS24) or word.startswith("maxredirects=")
    return None if good else f"RewriteOptions: unknown option '{words[0]}'"


def _base(words: list[str], around: Around) -> str | None:
    if not around.folder:
        return "RewriteBase: only valid in per-directory config files"
    return None if words[0].startswith("/") else "RewriteBase: argument is not a valid URL"


def _map(words: list[str], around: Around) -> str | None:
    """NAME TYPE:SOURCE; what is not a known type is a text file."""
    name, source = words[0], words[1]
    kind, colon, rest = source.partition(":")
    if colon and kind == "int":
        return None if rest in INTERNAL else f"RewriteMap: internal map not found:{rest}"
    if colon and around.version == "2.4" and kind in ("dbd", "fastdbd"):
        return None if "dbd_module" in around.loaded else "RewriteMap types dbd and fastdbd require mod_dbd!"
    if kind.startswith("dbm="):
        if not colon:
            return f"RewriteMap: bad map:{source}"
        if kind[4:] not in DBM:
            return f"RewriteMap: dbm type {kind[4:]} is invalid"
        rest += ".dir" if kind == "dbm=sdbm" else ""
    elif not colon or kind not in ("txt", "rnd", "prg", "dbm"):
        rest = source
    elif kind == "prg":
        rest = (split(rest) or [""])[0]
    path = around.path(rest)
    return None if os.path.exists(raw(path)) else f"RewriteMap: file for map {name} not found:{path}"


CHECKS: dict[str, Rule] = {
    "rewritebase": _base, "rewritecond": _condition, "rewritemap": _map, "rewriteoptions": _option, "rewriterule": _rule,
}
