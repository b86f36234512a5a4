"""Edits from the present lines of a section to its planned lines; unchanged lines keep their place and
comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from whimbrel.access.file_conditions import file_condition, quoted
from whimbrel.access.layers import AccessLine
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.tree import Section
from whimbrel.upgrade.access_control.effective import CONTROL, split_args
from whimbrel.upgrade.access_control.replacement import (
    FILES,
    FileCase,
    Lines,
    Repetition,
    Replacement,
    directory_of,
    opening_line,
)
from whimbrel.upgrade.access_control.sections import (
    AccessSection,
    as_written,
    is_access_statement,
    open_branches,
    to_access_line,
)
from whimbrel.upgrade.model import FileEdit
from whimbrel.upgrade.source.config_tree import Statement
from whimbrel.upgrade.source.marks import marks_in
from whimbrel.upgrade.source.walk import walk

_NAMES: Final = {
    "order": "Order",
    "allow": "Allow",
    "deny": "Deny",
    "satisfy": "Satisfy",
    "require": "Require",
    "authmerging": "AuthMerging",
    "limit": "Limit",
    "limitexcept": "LimitExcept",
    "requireall": "RequireAll",
    "requireany": "RequireAny",
    "requirenone": "RequireNone",
    "ifdefine": "IfDefine",
    "ifmodule": "IfModule",
}
_LIMITS: Final = ("<limit", "<limitexcept")
_FIELDS: Final = {"order": "list", "allow": "list", "deny": "list", "satisfy": "satisfy"}
"""The field of the configuration that a line about access sets; all others set that of Require."""
_REQUIRES: Final = ("require", "authmerging", "requireall", "requireany", "requirenone")
_MODULE_24: Final = "mod_authz_core.c"
_MODULE_22: Final = "!mod_authz_core.c"


def section_edits(
    section: AccessSection,
    replacement: Replacement,
    unchanged_lines: Lines,
    removed_names: frozenset[str],
    *,
    also_22: bool = False,
    rank: int = 0,
) -> tuple[FileEdit, ...]:
    """Return the edits that give the section the lines of *replacement*.

    *unchanged_lines* are its other relevant lines, *removed_names* the directives that 2.4 lacks. *rank* is
    that of its repetitions.
    """
    names = CONTROL | removed_names
    current = [statement for statement in section.lines if statement.name.removeprefix("<") in names]
    control = _in_place(current, _in_order(current, tuple(_with_head(current, replacement.control))))
    wanted = [*_hoisted(current, unchanged_lines, replacement.control), *control]
    repeats = tuple(repeated(section, repeat, also_22=also_22, rank=rank) for repeat in replacement.repeats)
    if also_22:
        return (*(guarded(section, current, wanted) if _changed(current, wanted) else ()), *repeats)
    cases = [line for case in replacement.cases for line in _case(section, case)]
    ending = [at_end(section, cases)] if cases else []
    return (*differences(section, current, wanted), *repeats, *ending)


def _in_place(current: Sequence[Statement], control: Lines) -> list[AccessLine]:
    """Return the lines with those that stay in the order in which the text has them.

    Require and AuthMerging, Order, Allow and Deny, and Satisfy are fields of their own: a line of one may
    stand before or behind those of another. Containers of methods set several fields, so nothing is moved
    beside one.
    """
    if not all(line.name in _FIELDS or line.name in _REQUIRES for line in control):
        return list(control)
    left = [_statement_key(statement) for statement in current]
    slots: list[int] = []
    places: list[int] = []
    for slot, line in enumerate(control):
        key = _line_key(line)
        if key in left:
            slots.append(slot)
            places.append(left.index(key))
            left[places[-1]] = ()
    by_field: dict[str, list[int]] = {}
    for slot, place in zip(slots, places, strict=True):
        by_field.setdefault(_FIELDS.get(control[slot].name, "require"), []).append(place)
    if any(found != sorted(found) for found in by_field.values()):
        return list(control)
    moved = list(control)
    for slot, (_place, origin) in zip(slots, sorted(zip(places, slots, strict=True)), strict=True):
        moved[slot] = control[origin]
    return moved


def _in_order(current: Iterable[Statement], control: Lines) -> Lines:
    """Return the lines with their methods in the order in which the text names them."""
    words = [word for line in current if line.name in _LIMITS for word in line.args.split()]
    order = {word: at for at, word in reversed(list(enumerate(words)))}
    return tuple(_ordered(line, order) for line in control) if order else control


def _ordered(line: AccessLine, order: Mapping[str, int]) -> AccessLine:
    children = tuple(_ordered(child, order) for child in line.children)
    before, kind, methods = line.args.rpartition("method ")
    if line.name in ("limit", "limitexcept"):
        methods = line.args
    elif line.name != "require" or not kind or before not in ("", "not "):
        return replace(line, children=children)
    ordered = sorted(methods.split(), key=lambda word: order.get(word, len(order)))
    return replace(line, args=f"{before}{kind}{' '.join(ordered)}", children=children)


def _with_head(current: Iterable[Statement], control: Lines) -> Iterator[AccessLine]:
    """Yield the lines, with HEAD in the methods if the text had it; for httpd GET includes it."""
    if not any("HEAD" in line.args.split() for line in current if line.is_section):
        yield from control
        return
    for line in control:
        words = line.args.split()
        if line.name in ("limit", "limitexcept") and "HEAD" not in words:
            words = ["GET HEAD" if word == "GET" else word for word in words]
            yield replace(line, args=" ".join(words))
        else:
            yield line


def _hoisted(current: Sequence[Statement], unchanged_lines: Lines, control: Lines) -> list[AccessLine]:
    """Return the lines such as AuthType in a <Limit> that is removed: they move out of it, unless *control*
    has them in one."""
    inside = {
        to_access_line(child): as_written(child)
        for statement in current
        if statement.is_section
        for child in open_branches(statement.children)
        if is_access_statement(child)
    }
    staying = set(walk(control)) if inside else ()
    return [inside[line] for line in unchanged_lines if line in inside and line not in staying]


def _changed(current: Sequence[Statement], wanted: Sequence[AccessLine]) -> bool:
    return [_statement_key(statement) for statement in current] != [_line_key(line) for line in wanted]


def _statement_key(statement: Statement) -> tuple[object, ...]:
    """Return a key of the statement that ignores white space and the case of names."""
    if not statement.is_section:
        return statement.name, _normal(statement.name, statement.args), ()
    inner = (
        tuple(
            _statement_key(child) for child in open_branches(statement.children) if is_access_statement(child)
        )
        if statement.is_section
        else ()
    )
    name = statement.name.removeprefix("<")
    return name, _normal(name, statement.args), inner


def _line_key(line: AccessLine) -> tuple[object, ...]:
    return line.name, _normal(line.name, line.args), tuple(_line_key(child) for child in line.children)


@lru_cache(maxsize=4096)
def _normal(name: str, args: str) -> tuple[str, ...]:
    if name == "require":
        first, _, rest = args.strip().partition(" ")
        return (first, *split_args(rest))
    return (
        tuple(word.lower() for word in split_args(args))
        if name in ("order", "allow", "deny", "satisfy")
        else tuple(split_args(args))
    )


def differences(
    unit: AccessSection, old: Sequence[Statement], wanted: Sequence[AccessLine], *, in_branch: bool = False
) -> Iterator[FileEdit]:
    """Yield the edits that turn *old* into *wanted*.

    Appended lines go to the end of the section, or of the branch that contains all of *old*.
    """
    for kind, low, high, start, end in _opcodes(
        tuple(map(_statement_key, old)), tuple(map(_line_key, wanted))
    ):
        if kind == "equal":
            continue
        if start < end:
            text = list(rendered(wanted[start:end], unit))
            if low < high:
                at = _best_replaced(old, low, high, wanted[start:end])
                yield old[at].replace([*_comments(old[at]), *text])
                yield from (
                    _removed(statement) for number, statement in enumerate(old[low:high], low) if number != at
                )
                continue
            if low < len(old):
                yield old[low].insert_before(text)
            elif in_branch:
                yield old[-1].insert_after(text)
            else:
                yield _appended(unit, text)
        for statement in old[low:high]:
            yield _removed(statement)


def _removed(statement: Statement) -> FileEdit:
    """Return the edit that removes a statement, without the comments that it holds; its marks go with it."""
    comments = [text for text in _comments(statement) if not marks_in(text.encode("latin-1"))]
    return statement.replace(comments) if comments else statement.remove()


def _comments(statement: Statement) -> list[str]:
    """Return what was meant as a comment at the end of address lists, as lines.

    httpd has no such comments and takes the words as host names.
    """
    if statement.is_section:
        return [comment for child in statement.children for comment in _comments(child)]
    at = statement.args.find(" #") if statement.name in ("allow", "deny") else -1
    return [statement.args[at:].strip()] if at >= 0 else []


def _best_replaced(current: Sequence[Statement], low: int, high: int, wanted: Sequence[AccessLine]) -> int:
    """Return the old line that the new lines replace: the one with the most names in common, because a
    comment may describe it."""
    named = {word for line in walk(wanted) for word in line.args.split()[1:]}
    return max(range(low, high), key=lambda at: (len(named.intersection(current[at].args.split()[1:])), -at))


@lru_cache(maxsize=4096)
def _opcodes(
    before: tuple[object, ...], after: tuple[object, ...]
) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


MAX_ARGS: Final = 4000
_LISTS: Final = frozenset(("ip", "host", "env", "user", "group"))
"""Words of Require whose arguments are alternatives."""


def rendered(
    lines: Iterable[AccessLine], section: AccessSection, depth: int = 0, within: str = ""
) -> Iterator[str]:
    """Yield the lines as text; the contents of a container are indented by one more step.

    *within* is the container of Require around the lines, "" for none.
    """
    step = "\t" if _tabbed(section) else "    "
    for line in (part for one in lines for part in _split(one, within)):
        name = _NAMES.get(line.name, line.name)
        args = f" {line.args}" if line.args else ""
        if line.is_container:
            yield f"{step * depth}<{name}{args}>"
            inner = line.name if line.name.startswith("require") else within
            yield from rendered(line.children, section, depth + 1, inner)
            yield f"{step * depth}</{name}>"
        else:
            yield f"{step * depth}{name}{args}"


def _split(line: AccessLine, within: str) -> Iterator[AccessLine]:
    """Yield *line*, a long list of alternatives in parts: httpd refuses long lines in .htaccess files."""
    words = line.args.split()
    is_negative = words[:1] == ["not"]
    kind = words[is_negative : is_negative + 1]
    values = words[is_negative + 1 :]
    if line.name != "require" or len(line.args) <= MAX_ARGS or not kind or kind[0] not in _LISTS:
        yield line
        return
    size = max(1, MAX_ARGS // (max(map(len, values)) + 1))
    parts = [
        AccessLine("require", " ".join([*words[: is_negative + 1], *values[at : at + size]]))
        for at in range(0, len(values), size)
    ]
    if not is_negative and within == "requireall":
        yield AccessLine("requireany", "", children=tuple(parts))
    elif is_negative == (within == "requireall"):
        yield from parts
    else:
        yield line


def _tabbed(section: AccessSection) -> bool:
    return any(
        statement.file.document.bytes.startswith(b"\t", statement.node.start)
        for statement in section.lines[:3]
    )


def _appended(section: AccessSection, text: list[str]) -> FileEdit:
    """Return the edits that append lines to a section without lines of the kind."""
    if section.lines:
        return top_of(section.lines[-1], section).insert_after(text)
    return at_start(section, text)


def top_of(statement: Statement, unit: AccessSection) -> Statement:
    """Return the statement directly in the section that contains *statement*."""
    while statement.parent is not None and statement.parent is not unit.statement:
        statement = statement.parent
    return statement


def at_start(section: AccessSection, text: list[str]) -> FileEdit:
    """Return the edit that inserts lines at the beginning of a section."""
    assert section.statement is not None
    return _at_start_of(section.statement, text, tabbed=_tabbed(section))


def _at_start_of(statement: Statement, text: list[str], *, tabbed: bool) -> FileEdit:
    node = statement.node
    assert isinstance(node, Section)
    indent = statement.indent + (b"\t" if tabbed else b"    ")
    body = b"".join(indent + line.encode("latin-1") + statement.file.newline for line in text)
    return FileEdit(statement.file.path, Edit(node.body, node.body, body))


def repeated(unit: AccessSection, repeat: Repetition, *, also_22: bool, rank: int) -> FileEdit:
    """Return the edit that repeats the section: inside its holder for a <Files> section, else behind itself
    or at the start of a virtual host.

    *rank* is the place of the section among those that are merged: httpd merges repetitions in their order.
    """
    place = _repeated(unit, repeat, also_22=also_22)
    return FileEdit(place.path, place.edit._replace(rank=rank))


def _repeated(unit: AccessSection, repeat: Repetition, *, also_22: bool) -> FileEdit:
    name = opening_line(unit, repeat)
    text = [f"<{name}>", *rendered(repeat.control, unit, 1), f"</{name.partition(' ')[0]}>"]
    if also_22:
        text = [f"<IfModule {_MODULE_24}>", *text, "</IfModule>"]
    if repeat.server is not None:
        return _at_start_of(repeat.server, text, tabbed=_tabbed(unit))
    if unit.kind not in FILES:
        assert unit.statement is not None
        return unit.statement.insert_after(text)
    return at_end(repeat.holder, text)


def _case(section: AccessSection, case: FileCase) -> list[str]:
    """Return the lines of a case."""
    condition = file_condition(case.files, "" if case.holder is None else directory_of(case.holder))
    assert condition is not None  # `FileCases` proposes no other
    return [f"<If {quoted(condition)}>", *rendered(case.control, section, 1), "</If>"]


def at_end(section: AccessSection, text: list[str]) -> FileEdit:
    """Return the edit that inserts lines at the end of a section or .htaccess file."""
    document = section.file.document
    newline = section.file.newline
    if section.statement is None:
        end = len(document.bytes)
        missing = b"" if document.bytes.endswith(b"\n") or not end else newline
        return FileEdit(
            section.file.path,
            Edit(end, end, missing + b"".join(line.encode("latin-1") + newline for line in text)),
        )
    node = section.statement.node
    assert isinstance(node, Section)
    at = node.close.start if node.close is not None else node.end
    indent = section.statement.indent + (b"\t" if _tabbed(section) else b"    ")
    return FileEdit(
        section.file.path, Edit(at, at, b"".join(indent + line.encode("latin-1") + newline for line in text))
    )


# for both versions ----------------------------------------------------------------------------------
def guarded(
    unit: AccessSection, old: Sequence[Statement], wanted: Sequence[AccessLine]
) -> Iterator[FileEdit]:
    """Yield the new lines guarded for 2.4, and the old lines guarded for 2.2."""
    if wanted:
        text = [f"<IfModule {_MODULE_24}>", *rendered(wanted, unit, 1), "</IfModule>"]
        yield top_of(old[0], unit).insert_before(text) if old else _appended(unit, text)
    for run in _runs(unit, old):
        yield run[0].insert_before([f"<IfModule {_MODULE_22}>"])
        yield run[-1].insert_after(["</IfModule>"])


def _runs(section: AccessSection, current: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Yield groups of statements that only comments and blank lines separate."""
    run: list[Statement] = []
    for statement in current:
        if run and not _neighbours(section, run[-1], statement):
            yield run
            run = []
        run.append(statement)
    if run:
        yield run


def _neighbours(section: AccessSection, first: Statement, second: Statement) -> bool:
    if first.file is not second.file or first.parent is not second.parent:
        return False
    between = first.file.document.bytes[first.node.end : second.node.start]
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in between.split(b"\n"))
