"""R01: rewritten URLs that 2.4 refuses for the part that comes from the request.

Document: documents/R01-unsafe-urls.md
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.config.execute import root_relative
from whimbrel.modules.mappers.mod_rewrite.args import split_flags
from whimbrel.modules.mappers.mod_rewrite.maps import parse_text
from whimbrel.upgrade.edits.helpers import change_args, replace_guarded
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.rewriting.lines import (
    BLANK,
    MARK,
    RewriteLine,
    SubstitutionPiece,
    map_parts,
    pieces,
    rewrite_rules,
    with_flags,
)
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import has_server_context

REFERENCES: Final = ("$", "%")
REQUEST: Final = "the_request"


@dataclass(frozen=True, slots=True)
class RequiredFlags:
    """A reason why 2.4 refuses a rewritten URL, and the flags that permit it.

    Attributes:
        why: the reason.
        flags: the flags; none if no flag helps.
        is_equivalent: with the flags the responses are those of 2.2.
        variable: the variable that a condition must capture first, because flags apply to back references
            only.
    """

    why: str
    flags: tuple[str, ...] = ()
    is_equivalent: bool = True
    variable: str = ""

    @property
    def is_unsafe(self) -> bool:
        """Return True if the flags reopen what 2.4.60 has closed."""
        return any(flag.startswith("Unsafe") for flag in self.flags)


_OF_REQUEST: Final = "a question mark (%3f) enters the new path"
_ESCAPED: Final = frozenset(("int:escape",))
_OF_CASE: Final = frozenset(("int:toupper", "int:tolower"))
"""Maps whose values have the characters of their keys."""
SINCE_UNSAFE: Final = 60
"""The N of 2.4.N that refuses question marks and other directories, and has the flags that allow them."""
SINCE_BLANKS: Final = 56
"""The N of 2.4.N that refuses blanks and control characters in a query."""
SINCE_ESCAPES: Final = 57
"""The N of 2.4.N with the flag BCTLS."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the rules whose substitution can be refused: one finding for escaping flags, one for Unsafe
    flags."""
    maps = _maps(tree)
    target = tree.options.target
    for rule in rewrite_rules(tree):
        if not rule.substitutes:
            continue
        needs = [
            need
            for need in (_question_mark(rule, maps), _blank(rule, maps), _prefix(rule))
            if need is not None
        ]
        needs = [need for need in needs if target >= (SINCE_UNSAFE if need.is_unsafe else SINCE_BLANKS)]
        refused = [need for need in needs if need.is_unsafe and not tree.options.unsafe_flags]
        escaped = [need for need in needs if need not in refused]
        if escaped:
            yield _finding(tree, rule, escaped)
        if refused:
            yield _refused(rule, refused)


def _refused(rule: RewriteLine, needs: list[RequiredFlags]) -> Finding:
    """Return the finding about URLs that 2.4 refuses unless an Unsafe flag is added."""
    flags = ", ".join(flag for need in needs for flag in need.flags)
    reasons = " and ".join(need.why for need in needs)
    what = f"since 2.4.60 URLs that match `{rule.parts.first}` are answered with 403 where {reasons}"
    return Finding(
        "R01",
        rule.line.place,
        what,
        (
            f"decide whether such URLs are in use; if so, add {flags} (--unsafe-flags does), which "
            "reopens what 2.4.60 closed"
        ),
        decision=f"May URLs of `{rule.parts.first}` get 403 where {reasons}?",
        answers=(
            "yes: # whimbrel: ignore[R01] above the line records it",
            f"no, they are in use: add {flags} (whimbrel upgrade --unsafe-flags)",
        ),
    )


def _finding(tree: ConfigTree, rule: RewriteLine, needs: list[RequiredFlags]) -> Finding:
    flags = [flag for need in needs for flag in need.flags]
    edits = _edits(tree, rule, flags, next((need.variable for need in needs if need.variable), ""))
    is_known = tree.options.target >= SINCE_ESCAPES
    advice = ""
    if flags:
        advice = _advice_of_flags(tree.options.target, flags)
    if not is_known or not all(need.flags for need in needs):
        advice = "; ".join(
            filter(None, (advice, "put the part of the query through a map of the type int:escape"))
        )
    # 2.4 closed a security hole there: the user decides whether to reopen it
    unsafe = any(flag.startswith("Unsafe") for flag in flags)
    if not edits:
        safety = Safety.MANUAL
    elif not unsafe and all(need.is_equivalent for need in needs):
        safety = Safety.SAFE
    else:
        safety = Safety.REVIEW
    why = " and ".join(need.why for need in needs)
    finding = Finding(
        "R01", rule.line.place, f"2.4 answers 403 where {why}", advice, Risk.CHANGES, safety, edits
    )
    if not (unsafe and edits):
        return finding
    names = ", ".join(flags)
    return replace(
        finding,
        message=f"without {names} 2.4 answers 403 where {why}",
        decision=f"May {names} reopen for URLs of `{rule.parts.first}` what 2.4.60 closed, as in 2.2?",
        answers=("yes: upgrade writes it", "no: # whimbrel: ignore[R01] above the line keeps it as it is"),
    )


def _advice_of_flags(target: int, flags: list[str]) -> str:
    """Return the advice to add *flags*; 2.4 does not start with a flag that its release lacks."""
    names = ", ".join(flags)
    if target < SINCE_ESCAPES:
        return f"2.4.{target} does not know {names}, which 2.4.{SINCE_ESCAPES} has"
    since = ""
    if not flags[0].startswith("Unsafe"):
        since = f" (of 2.4.{SINCE_ESCAPES}; --target names an older release)"
    return (
        f"add {names}{since}, which restores the answers of 2.2; remove it if no such request is meant to "
        "work"
    )


def _edits(tree: ConfigTree, rule: RewriteLine, flags: list[str], variable: str) -> tuple[FileEdit, ...]:
    known = tree.options.target >= SINCE_ESCAPES
    wanted = with_flags(rule.line, flags) if flags and known else None
    if wanted is None:
        return ()
    if not variable:
        return change_args(tree, rule.line, wanted)
    name = f"%{{{variable}}}"
    lines = [f"RewriteCond {name} ^(.*)$", f"{rule.line.node.name} {wanted.replace(name, '%1')}"]
    return replace_guarded(tree, rule.line, lines) if name in wanted else ()


# what the pieces of a substitution may hold ------------------------------------------------------
class _Map:
    """A map of a RewriteMap line.

    Attributes:
        kind: ``txt``, ``rnd``, ``prg``, ``int:escape``, ... `path`: what is behind the kind.
    """

    def __init__(self, tree: ConfigTree, source: str) -> None:
        self.kind = _type(source.lower())
        self.path = source.partition(":")[2]
        self._tree = tree

    @cached_property
    def may_have_mark(self) -> bool | None:
        """True if a value has a question mark; None if the values are not known here."""
        if self.kind not in ("txt", "rnd"):
            return None
        path = self._tree.disk.openable(root_relative(self._tree.text_root or "/", self.path))
        try:
            text = to_text(read_regular(to_bytes(path)))
        except OSError:
            return None
        return any(MARK in value for value in parse_text(text).values())


_Maps = dict[str, _Map]


def _maps(tree: ConfigTree) -> _Maps:
    """Return the maps by name."""
    words = (line.words() for line in tree.named("rewritemap"))
    return {args[0]: _Map(tree, args[1]) for args in words if len(args) > 1}


def _type(source: str) -> str:
    if source.startswith("int:"):
        return source
    if ":" in source:
        return source.partition(":")[0].partition("=")[0]
    return "txt"


def _may_have_blank(rule: RewriteLine, piece: SubstitutionPiece, maps: _Maps) -> bool:
    if piece.kind in REFERENCES and rule.has("b"):
        return False
    if piece.kind != "${":
        return rule.may_hold(piece, BLANK)
    name, key, default = map_parts(piece)
    kind = maps[name].kind if name in maps else ""
    if kind in _ESCAPED:
        return False
    if kind in _OF_CASE:
        return any(_may_have_blank(rule, one, maps) for one in pieces(key))
    values = kind not in ("", "txt", "rnd")  # values of text maps have no blanks
    return values or any(_may_have_blank(rule, one, maps) for one in pieces(default))


def _mark_of(rule: RewriteLine, piece: SubstitutionPiece, maps: _Maps) -> str:
    """Return how a question mark may enter the new path by *piece*, "" if it cannot."""
    if piece.kind in REFERENCES and rule.has("b"):
        return ""
    if piece.kind != "${":
        return _OF_REQUEST if rule.may_hold(piece, MARK) else ""
    name, key, default = map_parts(piece)
    known = maps.get(name)
    if known is not None and known.kind in _ESCAPED:
        return ""
    if known is not None and known.kind in _OF_CASE:
        return _mark_of_any(rule, key, maps)
    if known is not None and known.kind.startswith("int:"):
        return _OF_REQUEST
    has_mark = known.may_have_mark if known is not None else False
    if has_mark or has_mark is None:
        unread = "" if has_mark else ", which was not read,"
        return f"a question mark enters the new path by a value of the map {name}{unread}".rstrip(",")
    return _mark_of_any(rule, default, maps)


def _mark_of_any(rule: RewriteLine, text: str, maps: _Maps) -> str:
    return next(filter(None, (_mark_of(rule, one, maps) for one in pieces(text))), "")


# what it needs -----------------------------------------------------------------------------------
def _question_mark(rule: RewriteLine, maps: _Maps) -> RequiredFlags | None:
    """Detect a query that begins at a question mark outside of the rule's text (AH10508)."""
    if rule.has("unsafeallow3f"):
        return None
    for piece in rule.pieces:
        mark = _mark_of(rule, piece, maps)
        if mark:
            return None if piece.kind == "text" else RequiredFlags(mark, ("UnsafeAllow3F",))
    return None


def _blank(rule: RewriteLine, maps: _Maps) -> RequiredFlags | None:
    """Detect blanks or control characters in a query (AH10410, AH10411); redirects escape them unless flags
    disable that."""
    plain = rule.has("ne", "noescape")
    if rule.has("bctls") or (rule.redirects and not plain):
        return None
    starts = (
        at
        for at, piece in enumerate(rule.pieces)
        if (piece.kind == "text" and MARK in piece.text) or piece.text == REQUEST
    )
    at = next(starts, len(rule.pieces))
    blanks = [
        piece for piece in rule.pieces[at:] if piece.kind != "text" and _may_have_blank(rule, piece, maps)
    ]
    return _escaped(rule, blanks, rule.pieces[:at], maps, same=not plain) if blanks else None


def _escaped(
    rule: RewriteLine,
    blanks: list[SubstitutionPiece],
    path: list[SubstitutionPiece],
    maps: _Maps,
    *,
    same: bool,
) -> RequiredFlags:
    """Return the flags that escape *blanks* and nothing in *path*."""
    why = "a blank or control character enters the query"
    references = [piece for piece in path if piece.kind in REFERENCES or piece.kind == "${"]
    if any(_may_have_blank(rule, piece, maps) for piece in references):
        return RequiredFlags(why, is_equivalent=False)
    if all(piece.kind in REFERENCES for piece in blanks):
        return RequiredFlags(why, ("BCTLS", "BNP"), same)
    names = {piece.text for piece in blanks}
    if len(names) == 1 and blanks[0].kind == "%{" and REQUEST not in names and _may_capture(rule):
        return RequiredFlags(why, ("BCTLS", "BNP"), same, blanks[0].text.upper())
    return RequiredFlags(why, is_equivalent=False)


def _may_capture(rule: RewriteLine) -> bool:
    """Return True if a condition can be added whose group no other text uses, and that changes no key of a
    map."""
    texts = rule.parts.second + rule.parts.flags
    either = any(
        name.lower() in ("or", "ornext")
        for c in rule.conditions[-1:]
        for name, _ in split_flags(c.flags) or ()
    )
    return not either and re.search("%[0-9]", texts) is None and "${" not in texts


def _prefix(rule: RewriteLine) -> RequiredFlags | None:
    """Detect a new path whose first directory comes from a map or a variable."""
    if (
        rule.has("unsafeprefixstat", "p", "proxy", "pt", "passthrough")
        or not has_server_context(rule.line)
        or rule.redirects
    ):
        return None
    first = rule.pieces[0]
    by_map = first.kind == "%" and any("${" in condition.first for condition in rule.conditions)
    if first.kind == "${" or by_map or (first.kind == "%{" and first.text.startswith("env:")):
        return RequiredFlags(
            ("the new path begins with a directory outside of the document root that the rule does not name"),
            ("UnsafePrefixStat",),
        )
    return None


RULE = Rule("R01", "unsafe-urls", "Rewritten URLs are refused for what requests put into them", check)
