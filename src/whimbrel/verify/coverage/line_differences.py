"""The lines of two sides that differ: directives in their sections, not texts.

A line has a partner if the other side has the same directive with the same arguments at the same place in
the order of its module's lines. Blanks, comments, quotes and the order of different modules are no
difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

from whimbrel.config.loaded import LoadedModules
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.coverage.values import ValueForms

Key = tuple[object, ...]
Groups = dict[Key, list[ConfigLine]]
EqualSections = Mapping[int, LineScope]
CONDITIONAL: Final = frozenset(
    "ifmodule ifdefine ifversion iffile ifdirective ifsection include includeoptional define undefine undef"
    " macro use undefmacro error warning".split()
)
"""Directives whose effect is which other lines are executed."""
_MAX_MATCHED: Final = 3000
"""Lines of one module in one section that are matched in their order; beyond, as a set."""


def differing_lines(
    sides: tuple[SideLines, SideLines], forms: tuple[ValueForms, ValueForms], equal: EqualSections
) -> tuple[list[ConfigLine], list[ConfigLine]]:
    """Return the lines of each side without a partner on the other one.

    *equal* are sections of the new side, by identity, with those of the old side that have the same effect.
    """
    modules = tuple(lines.side.loaded.modules for lines in reversed(sides))
    old, new = (_groups(lines, form, modules, equal) for lines, form in zip(sides, forms, strict=True))
    found: tuple[list[ConfigLine], list[ConfigLine]] = ([], [])
    for key in dict.fromkeys((*old, *new)):
        mine, theirs = old.get(key, []), new.get(key, [])
        without = _unmatched(mine, theirs, forms)
        found[0].extend(without[0])
        found[1].extend(without[1])
    return found


def scope_key(scope: LineScope | None, form: ValueForms, equal: EqualSections) -> Key:
    """Return the key by which sections of both sides correspond: the sections around it, outermost first."""
    keys: list[object] = []
    while scope is not None:
        if scope.kind == "server":
            keys.append(_server_key(scope))
            break
        if scope.kind == "htaccess":
            keys.append(("htaccess", form.text(scope.args)))
            break
        keys.append(section_key(equal.get(id(scope), scope), form))
        scope = scope.outer
    return tuple(reversed(keys))


def section_key(scope: LineScope, form: ValueForms) -> Key:
    """Return kind, argument and form of matching of one section; <Files ~> is <FilesMatch>."""
    words = [word for word in ConfigLine("", scope.args, "", 0, scope).words() if word]
    kind, is_regex = scope.kind.removesuffix("match"), scope.kind.endswith("match")
    if words[:1] == ["~"]:
        words, is_regex = words[1:], True
    if kind in ("if", "elseif", "else"):
        return (kind, " ".join(scope.args.split()))
    if kind == "directory" and not is_regex:
        words = [word.rstrip("/") or "/" for word in words]
    return (kind, is_regex, tuple(map(form.text, words)))


def _server_key(scope: LineScope) -> object:
    if not scope.path:
        return ""
    named = next((line for line in scope.lines if line.name == "servername"), None)
    name = " ".join(named.words()).lower() if named is not None else ""
    return (" ".join(scope.args.rpartition(">")[0].split()), name)


def _groups(
    lines: SideLines, form: ValueForms, modules: tuple[LoadedModules, ...], equal: EqualSections
) -> Groups:
    """Return the lines of a side by section and module, in the order of reading.

    A directive belongs to the module of the first of *modules* that knows it: versions moved some.
    """
    found: Groups = {}
    for scope in lines.scopes:
        if not scope.lines:
            continue
        key = scope_key(scope, form, equal)
        for line in scope.lines:
            if line.name in CONDITIONAL:
                continue
            found.setdefault((_module_of(line.name, modules), *key), []).append(line)
    return found


def _module_of(name: str, modules: tuple[LoadedModules, ...]) -> str:
    """Return the source of the module that has the directive; its name if none has it."""
    for loaded in modules:
        rows = loaded.rows(name) or loaded.rows("<" + name)
        if rows:
            return rows[0].module.source
    return name


def _unmatched(
    old: list[ConfigLine], new: list[ConfigLine], forms: tuple[ValueForms, ValueForms]
) -> tuple[list[ConfigLine], list[ConfigLine]]:
    keys = [_line_key(line, forms[0]) for line in old], [_line_key(line, forms[1]) for line in new]
    if keys[0] == keys[1]:
        return [], []
    if max(len(old), len(new)) > _MAX_MATCHED:
        return _without(old, keys[0], set(keys[1])), _without(new, keys[1], set(keys[0]))
    found: tuple[list[ConfigLine], list[ConfigLine]] = ([], [])
    for operation, i, j, k, m in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if operation != "equal":
            found[0].extend(old[i:j])
            found[1].extend(new[k:m])
    return found


def _without(lines: list[ConfigLine], keys: list[Key], others: set[Key]) -> list[ConfigLine]:
    return [line for line, key in zip(lines, keys, strict=True) if key not in others]


def _line_key(line: ConfigLine, form: ValueForms) -> Key:
    return (line.name, line.container, tuple(_words(line, form)))


def _words(line: ConfigLine, form: ValueForms) -> Iterator[object]:
    """Yield the forms of the arguments; a file below the root counts with its content."""
    for word in line.words():
        is_relative = "/" in word and not word.startswith("/") and form.file(form.root + word)
        yield form.text(form.root + word if is_relative else word)
