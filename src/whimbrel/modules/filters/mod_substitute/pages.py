"""Substitution on many lines at once, where the result is that of `lines`.

The patterns qualify if no match can extend over the end of a line, and if no pattern but the last can add or
remove a line end.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, cast

from whimbrel.base.regex import Match
from whimbrel.base.regex_cost import Scan
from whimbrel.modules.filters.mod_substitute.lines import Rules
from whimbrel.modules.filters.mod_substitute.patterns import FixedText, Pattern, PatternExpression
from whimbrel.modules.support.substitution import Substitution

# steps of a matcher that one piece may take, by proof; beyond it lines are matched one by one
MAX_STEPS: Final = 1_000_000

Stage = Callable[[str], "str | None"]


@lru_cache(maxsize=1024)
def compile_stages(rules: Rules) -> tuple[Stage, ...] | None:
    """Return a function for each pattern (None where it has no proof), or None if they do not fit."""
    stages: list[Stage] = []
    for number, pattern in enumerate(rules.patterns, 1):
        stage = _stage(pattern, is_last=number == len(rules.patterns))
        if stage is None:
            return None
        stages.append(stage)
    for pattern in rules.patterns[:-1]:
        if not pattern.flatten or not _keeps_lines(pattern):
            return None
    return tuple(stages)


def is_slow(rules: Rules) -> bool:
    """Return True if an expression is tried at each byte."""
    return any(
        not isinstance(each, FixedText) and each.scan is not None and not each.scan.prefix
        for each in rules.patterns
    )


def substitute_page(rules: Rules, stages: tuple[Stage, ...], text: str) -> str | None:
    """Return *text* after substitution; None if the rules of lines must decide.

    No line can be longer than the text, so that a short text needs no check of lengths.
    """
    if rules.ends_at_nul and "\0" in text:
        return None
    for stage in stages:
        edited = stage(text)
        if edited is None or max(len(edited), len(text)) + 1 >= rules.limit:
            return None
        if "\0" in text and edited is not text:
            return None
        text = edited
    return text


def _keeps_lines(pattern: Pattern) -> bool:
    """Return True if no match and no replacement has a newline, or if `_by_prefix` makes sure of it."""
    if isinstance(pattern, FixedText):
        return "\n" not in pattern.text + pattern.replacement
    scan = pattern.scan
    if scan is None or "\n" in pattern.substitution.text:
        return False
    return not scan.has_newline or bool(scan.prefix)


def _stage(pattern: Pattern, *, is_last: bool) -> Stage | None:
    if isinstance(pattern, FixedText):
        if "\n" in pattern.text:
            return None
        return _fixed(pattern.text, pattern.replacement, pattern.fold)
    scan = pattern.scan
    substitution = pattern.substitution
    if scan is None:
        return None
    if scan.is_literal and substitution.plain is not None and "\n" not in scan.prefix:
        return _fixed(scan.prefix, substitution.plain, None)
    if scan.prefix:
        return _by_prefix(scan, substitution, takes_newline=is_last)
    return None if scan.has_newline else _anywhere(scan, _template(pattern))


def _fixed(text: str, replacement: str, fold: re.Pattern[str] | None) -> Stage:
    if fold is None:
        return lambda page: page.replace(text, replacement)
    template = replacement.replace("\\", "\\\\")
    return lambda page: fold.sub(template, page)


def _template(pattern: PatternExpression) -> str:
    """Return the replacement as a template of `re`."""
    template = ""
    for piece in pattern.substitution.pieces:
        if isinstance(piece, str):
            template += piece.replace("\\", "\\\\")
        elif piece <= pattern.regex.groups:
            template += f"\\g<{piece}>"
    return template


def _anywhere(scan: Scan, template: str) -> Stage:
    sub = scan.pattern.sub
    cost = scan.cost

    def stage(page: str) -> str | None:
        longest = len(page) if cost.degree == 0 else max(map(len, page.split("\n"))) + 1
        if cost.factor * longest**cost.degree * len(page) > MAX_STEPS:
            return None
        return sub(template, page)

    return stage


def _by_prefix(scan: Scan, substitution: Substitution, *, takes_newline: bool) -> Stage:
    """Return the stage of an expression that begins with a text: each occurrence is tried within its line.

    Without *takes_newline* it has no result where a match takes the end of a line.
    """
    match = scan.pattern.match
    prefix = scan.prefix
    cost = scan.cost
    apply = substitution.apply
    plain = substitution.plain

    def stage(page: str) -> str | None:
        find = page.find
        begin = find(prefix)
        if begin < 0:
            return page
        out = []
        at = 0
        end = 0
        steps = 0
        while begin >= 0:
            if begin >= end:
                end = find("\n", begin) + 1 or len(page)
            attempt = cost.factor * (end - begin) ** cost.degree
            if steps + attempt > MAX_STEPS:
                return None
            found = match(page, begin, end)
            if found is None:
                steps += attempt
                begin = find(prefix, begin + 1)
                continue
            if not takes_newline and page[found.end() - 1] == "\n":
                return None
            out.append(page[at:begin])
            out.append(apply(cast(Match, found)) if plain is None else plain)
            at = found.end()
            begin = find(prefix, at)
        out.append(page[at:])
        return "".join(out)

    return stage
