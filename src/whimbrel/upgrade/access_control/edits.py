"""From the lines that a section shall have to edits of those that it has: what stays the same stays in its place, comments and all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final

from whimbrel.access.layers import Line
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.tree import Section
from whimbrel.upgrade.access_control.sections import Unit, as_written, line_of, opened, relevant
from whimbrel.upgrade.access_control.split import FILES, Form, Lines, Repeat, opening
from whimbrel.upgrade.access_control.states import CONTROL, words
from whimbrel.upgrade.estate import Statement
from whimbrel.upgrade.model import FileEdit

_NAMES: Final = {
    "order": "Order", "allow": "Allow", "deny": "Deny", "satisfy": "Satisfy", "require": "Require", "authmerging": "AuthMerging", "limit": "Limit",
    "limitexcept": "LimitExcept", "requireall": "RequireAll", "requireany": "RequireAny", "requirenone": "RequireNone",
    "ifdefine": "IfDefine", "ifmodule": "IfModule",
}
_NEW: Final = "mod_authz_core.c"
_OLD: Final = "!mod_authz_core.c"


def of_unit(unit: Unit, form: Form, kept: Lines, gone: frozenset[str], *, also_22: bool = False) -> tuple[FileEdit, ...]:
    """The edits that make *form* out of the section's lines; *kept* are those of its other lines that matter, *gone* names that 2.4 lacks."""
    old = [statement for statement in unit.lines if statement.name.removeprefix("<") in CONTROL | gone]
    wanted = [*_hoisted(old, kept, form.control), *form.control]
    repeats = tuple(repeated(unit, repeat, also_22=also_22) for repeat in form.repeats)
    if also_22:
        return (*(guarded(unit, old, wanted) if _changed(old, wanted) else ()), *repeats)
    return (*differences(unit, old, wanted), *repeats)


def _hoisted(old: Sequence[Statement], kept: Lines, control: Lines) -> list[Line]:
    """Lines such as AuthType that stand in a <Limit> which goes: they come out of it, unless *control* has them in one."""
    inside = {line_of(child): as_written(child)
              for statement in old if statement.is_section for child in opened(statement.children) if relevant(child)}
    staying = set(flat(control))
    return [inside[line] for line in kept if line in inside and line not in staying]


def _changed(old: Sequence[Statement], wanted: Sequence[Line]) -> bool:
    return [_key_of(statement) for statement in old] != [_key(line) for line in wanted]


def _key_of(statement: Statement) -> tuple[object, ...]:
    """What a statement says, blanks and the case of names apart."""
    if not statement.is_section:
        return statement.name, _normal(statement.name, statement.args), ()
    inner = tuple(_key_of(child) for child in opened(statement.children) if relevant(child)) if statement.is_section else ()
    name = statement.name.removeprefix("<")
    return name, _normal(name, statement.args), inner


def _key(line: Line) -> tuple[object, ...]:
    return line.name, _normal(line.name, line.args), tuple(_key(child) for child in line.children)


@lru_cache(maxsize=4096)
def _normal(name: str, args: str) -> tuple[str, ...]:
    if name == "require":
        first, _, rest = args.strip().partition(" ")
        return (first, *words(rest))
    return tuple(word.lower() for word in words(args)) if name in ("order", "allow", "deny", "satisfy") else tuple(words(args))


def differences(unit: Unit, old: Sequence[Statement], wanted: Sequence[Line], *, in_branch: bool = False) -> Iterator[FileEdit]:
    """The edits that make *wanted* out of *old*; what comes last goes to the end of the section, or of the branch in which all of *old* stand."""
    for kind, low, high, start, end in _opcodes(tuple(map(_key_of, old)), tuple(map(_key, wanted))):
        if kind == "equal":
            continue
        if start < end:
            text = list(rendered(wanted[start:end], unit))
            if low < high:
                at = _weightiest(old, low, high, wanted[start:end])
                yield old[at].replace(text)
                yield from (statement.remove() for number, statement in enumerate(old[low:high], low) if number != at)
                continue
            if low < len(old):
                yield old[low].before(text)
            elif in_branch:
                yield old[-1].after(text)
            else:
                yield _appended(unit, text)
        for statement in old[low:high]:
            yield statement.remove()


def _weightiest(old: Sequence[Statement], low: int, high: int, wanted: Sequence[Line]) -> int:
    """Which of the old lines the new ones take the place of: the one that names the most of whom they name, since a comment on that stands there."""
    named = {word for line in flat(wanted) for word in line.args.split()[1:]}
    return max(range(low, high), key=lambda at: (len(named.intersection(old[at].args.split()[1:])), -at))


def flat(lines: Iterable[Line]) -> Iterator[Line]:
    """All lines, those of containers behind them."""
    for line in lines:
        yield line
        yield from flat(line.children)


@lru_cache(maxsize=4096)
def _opcodes(before: tuple[object, ...], after: tuple[object, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, before, after, autojunk=False).get_opcodes()


def rendered(lines: Iterable[Line], unit: Unit, depth: int = 0) -> Iterator[str]:
    """Lines as text, each container's contents indented by one step more."""
    step = "\t" if _tabbed(unit) else "    "
    for line in lines:
        name = _NAMES.get(line.name, line.name)
        args = f" {line.args}" if line.args else ""
        if line.is_container:
            yield f"{step * depth}<{name}{args}>"
            yield from rendered(line.children, unit, depth + 1)
            yield f"{step * depth}</{name}>"
        else:
            yield f"{step * depth}{name}{args}"


def _tabbed(unit: Unit) -> bool:
    return any(statement.indent.startswith(b"\t") for statement in unit.lines[:3])


def _appended(unit: Unit, text: list[str]) -> FileEdit:
    """Lines at the end of a section that has none of the kind."""
    if unit.lines:
        return top_of(unit.lines[-1], unit).after(text)
    return at_start(unit, text)


def top_of(statement: Statement, unit: Unit) -> Statement:
    """The statement directly in the section that holds *statement*."""
    while statement.parent is not None and statement.parent is not unit.statement:
        statement = statement.parent
    return statement


def at_start(unit: Unit, text: list[str]) -> FileEdit:
    """Lines at the beginning of a section."""
    assert unit.statement is not None
    node = unit.statement.node
    assert isinstance(node, Section)
    indent = unit.statement.indent + (b"\t" if _tabbed(unit) else b"    ")
    body = b"".join(indent + line.encode("latin-1") + unit.file.newline for line in text)
    return FileEdit(unit.file.path, Edit(node.body, node.body, body))


def repeated(unit: Unit, repeat: Repeat, *, also_22: bool) -> FileEdit:
    """The section once more: in its holder where it is a <Files>, else behind itself."""
    name = opening(unit, repeat)
    text = [f"<{name}>", *rendered(repeat.control, unit, 1), f"</{name.partition(' ')[0]}>"]
    if also_22:
        text = [f"<IfModule {_NEW}>", *text, "</IfModule>"]
    if unit.kind not in FILES:
        assert unit.statement is not None
        return unit.statement.after(text)
    return at_end(repeat.holder, text)


def at_end(unit: Unit, text: list[str]) -> FileEdit:
    """Lines at the end of a section or of a .htaccess file."""
    document = unit.file.document
    newline = unit.file.newline
    if unit.statement is None:
        end = len(document.bytes)
        missing = b"" if document.bytes.endswith(b"\n") or not end else newline
        return FileEdit(unit.file.path, Edit(end, end, missing + b"".join(line.encode("latin-1") + newline for line in text)))
    node = unit.statement.node
    assert isinstance(node, Section)
    at = node.close.start if node.close is not None else node.end
    indent = unit.statement.indent + (b"\t" if _tabbed(unit) else b"    ")
    return FileEdit(unit.file.path, Edit(at, at, b"".join(indent + line.encode("latin-1") + newline for line in text)))


# for both versions ----------------------------------------------------------------------------------
def guarded(unit: Unit, old: Sequence[Statement], wanted: Sequence[Line]) -> Iterator[FileEdit]:
    """The new lines for 2.4 alone, the old ones for 2.2 alone."""
    if wanted:
        text = [f"<IfModule {_NEW}>", *rendered(wanted, unit, 1), "</IfModule>"]
        yield top_of(old[0], unit).before(text) if old else _appended(unit, text)
    for run in _runs(unit, old):
        yield run[0].before([f"<IfModule {_OLD}>"])
        yield run[-1].after(["</IfModule>"])


def _runs(unit: Unit, old: Sequence[Statement]) -> Iterator[list[Statement]]:
    """The statements in groups that nothing but comments and blank lines come between."""
    run: list[Statement] = []
    for statement in old:
        if run and not _neighbours(unit, run[-1], statement):
            yield run
            run = []
        run.append(statement)
    if run:
        yield run


def _neighbours(unit: Unit, first: Statement, second: Statement) -> bool:
    if first.file is not second.file or first.parent is not second.parent:
        return False
    between = first.file.document.bytes[first.node.end:second.node.start]
    return all(not line.strip() or line.lstrip().startswith(b"#") for line in between.split(b"\n"))
