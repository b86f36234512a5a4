"""Comments that exempt lines from rules: ``# whimbrel: ignore`` and ``# whimbrel: ignore[C17,X01]``, on the
line or above it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import ACCESS_RULES, DIFFERENCE, Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, SourceFile, Statement
from whimbrel.upgrade.source.marks import OF_REQUEST, marks_in, requests_in
from whimbrel.upgrade.source.section_ranges import access_lines_of, at_each_line, stripped_lines
from whimbrel.upgrade.source.walk import walk

OF_COMMENT: Final = "2.4 answers otherwise"
"""The message of a finding that a comment alone makes."""


def is_suppressed(finding: Finding, tree: ConfigTree) -> bool:
    """Return True if a comment exempts the line of the finding, from all rules or from its rule."""
    names = _names_at(finding, tree)
    return names is not None and (not names or finding.rule in names)


def is_recorded(finding: Finding, tree: ConfigTree) -> bool:
    """Return True if a comment that names the rule of the finding exempts its line."""
    return finding.rule in (_names_at(finding, tree) or ())


def decided_line(tree: ConfigTree, rule: str) -> Statement | None:
    """Return the first line of the server with a comment that names *rule*.

    A rule about what the whole server lacks has no line of its own: a comment at any line decides.
    """
    for file in tree.files.values():
        if file.role is not Role.MAIN:
            continue
        marked = {line for line, names in _suppressions_of(file).items() if rule in names}
        found = (line for line in walk(file.statements) if line.node.number in marked) if marked else ()
        first = next(iter(found), None)
        if first is not None:
            return first
    return None


def reviewed_lines(tree: ConfigTree, findings: Iterable[Finding] = ()) -> Iterator[Finding]:
    """Yield a finding for each line with a comment that other answers than those of 2.2, which it causes, are
    wanted: ``# whimbrel: ignore[DIFF]``, or the number of a rule.

    The question of a rule about access control is about lines that an upgrade wrote. Where its journal is not
    found, the comment alone shows the decision, as no check finds such lines. It is one that clients lose
    access. *findings* are those about the text: what one of them reports, a comment
    with its rule decides as it says.
    """
    known = {(one.rule, one.place.path, one.place.line) for one in findings}
    for path, file in tree.files.items():
        comments = _suppressions_of(file)
        texts = (
            stripped_lines(file.document.bytes)
            if any(names & ACCESS_RULES for names in comments.values())
            else []
        )
        for line, names in comments.items():
            place = SourceLocation(path, line)
            for rule in sorted(names):
                if (rule, path, line) in known:
                    continue
                if rule not in ACCESS_RULES:
                    yield Finding(rule, place, OF_COMMENT)
                    continue
                yield from at_each_line(Finding(rule, place, OF_COMMENT, risk=Risk.CLOSES), texts)


def named_requests(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each request that a comment of the main file names: other answers to it, in what
    the comment names, are wanted.
    """
    main = next((file for file in tree.files.values() if file.role is Role.MAIN), None)
    if main is not None:
        for line, text in requests_in(main.document.bytes):
            yield Finding(DIFFERENCE, SourceLocation(main.path, line), f"{OF_REQUEST}{text}")


def _names_at(finding: Finding, tree: ConfigTree) -> frozenset[str] | None:
    """Return the rules that the comment at the finding names, None without one, or where none exempts it."""
    file = tree.files.get(finding.place.path)
    if finding.is_proven or file is None:
        return None
    comments = _suppressions_of(file)
    names = comments.get(finding.place.line)
    if names is None and comments and finding.rule in ACCESS_RULES and file.role is Role.HTACCESS:
        found = [comments[at] for at in access_lines_in(file, finding.place.line) if at in comments]
        return next((one for one in found if not one or finding.rule in one), None)
    return names


def access_lines_in(file: SourceFile, line: int) -> list[int]:
    """Return the lines about access in *file* from *line* on, as `access_lines_of` does."""
    return list(access_lines_of(stripped_lines(file.document.bytes), line))


def _suppressions_of(file: SourceFile) -> dict[int, frozenset[str]]:
    if file.suppressions is None:
        file.suppressions = suppressions(file.document.bytes)
    return file.suppressions


def suppressions(data: bytes) -> dict[int, frozenset[str]]:
    """Return for each exempted line the rules that its comments name; an empty set means all.

    The rules of several comments add up; beside them, one without rules exempts from no others.
    """
    suppressed: dict[int, frozenset[str]] = {}
    if b"whimbrel:" not in data:
        return suppressed
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        for names in marks_in(line) if b"whimbrel:" in line else ():
            exempted = _suppressed_line(lines, number)
            suppressed[exempted] = suppressed.get(exempted, frozenset()) | names
    return suppressed


def _suppressed_line(lines: list[bytes], number: int) -> int:
    """Return the line that a mark in line *number* exempts: that line, or for a comment the next line without
    comment."""
    while number <= len(lines) and lines[number - 1].lstrip().startswith(b"#"):
        number += 1
    return number
