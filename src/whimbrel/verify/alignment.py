"""Corresponding sections and lines of two sides: what both have, what one has alone, and what became what.

Lines are directives in their sections, not texts: blanks, comments, quotes, the order of lines of different
modules and the files that they stand in are no difference. The form of a line is that of `canonical`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final, Generic, TypeVar

from whimbrel.verify.canonical import Form, canonical, says_constant, says_default
from whimbrel.verify.config_lines import ConfigLine, LineScope, SideLines
from whimbrel.verify.coverage.values import ValueForms
from whimbrel.verify.named_files import forms_of_words
from whimbrel.verify.patterns.uses import family

T = TypeVar("T")
Key = tuple[object, ...]
EqualSections = Mapping[int, LineScope]
"""Sections of the new side, by identity, with those of the old side that count as the same."""
ScopePair = tuple[LineScope, LineScope]
CONDITIONAL: Final = frozenset(
    "ifmodule ifdefine ifversion iffile ifdirective ifsection include includeoptional define undefine undef"
    " macro use undefmacro error warning".split()
)
"""Directives whose effect is which other lines are executed."""
MAX_ALIGNED: Final = 3000
"""Lines or sections in a row that are aligned in their order; longer rows are matched in any order."""
PLACES: Final = frozenset(("server", "htaccess"))
CONDITIONS: Final = frozenset(("if", "elseif", "else"))


class Aligned(Generic[T]):
    """Two rows side by side.

    Attributes:
        equal: members with equal keys, in one order.
        replaced: members of one kind that stand at the same place between equal ones.
        left: the members of each row that are not equal to one of the other row.
    """

    def __init__(self, equal: list[tuple[T, T]] | None = None) -> None:
        self.equal: list[tuple[T, T]] = equal or []
        self.replaced: list[tuple[T, T]] = []
        self.left: tuple[list[T], list[T]] = ([], [])


def align(
    rows: tuple[Sequence[T], Sequence[T]],
    keys: tuple[Sequence[Hashable], Sequence[Hashable]],
    kind: Callable[[T], str],
) -> Aligned[T]:
    """Return two rows side by side; *keys* are those of their members."""
    old, new = rows
    if keys[0] == keys[1]:
        return Aligned(list(zip(old, new, strict=True)))
    found: Aligned[T] = Aligned()
    if max(len(old), len(new)) > MAX_ALIGNED:
        return _matched(rows, keys, kind)
    for operation, i, j, k, m in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        if operation == "equal":
            found.equal.extend(zip(old[i:j], new[k:m], strict=True))
            continue
        found.left[0].extend(old[i:j])
        found.left[1].extend(new[k:m])
        found.replaced.extend(_by_kind(old[i:j], new[k:m], kind))
    return found


def _matched(
    rows: tuple[Sequence[T], Sequence[T]],
    keys: tuple[Sequence[Hashable], Sequence[Hashable]],
    kind: Callable[[T], str],
) -> Aligned[T]:
    """Return two rows side by side, whatever the order of their members."""
    found: Aligned[T] = Aligned()
    waiting: dict[Hashable, deque[T]] = {}
    for one, key in zip(rows[1], keys[1], strict=True):
        waiting.setdefault(key, deque()).append(one)
    for one, key in zip(rows[0], keys[0], strict=True):
        others = waiting.get(key)
        if others:
            found.equal.append((one, others.popleft()))
        else:
            found.left[0].append(one)
    found.left[1].extend(one for others in waiting.values() for one in others)
    found.replaced.extend(_by_kind(*found.left, kind))
    return found


def _by_kind(old: Sequence[T], new: Sequence[T], kind: Callable[[T], str]) -> Iterator[tuple[T, T]]:
    rows: dict[str, list[T]] = {}
    for one in reversed(new):
        rows.setdefault(kind(one), []).append(one)
    for one in old:
        row = rows.get(kind(one))
        if row:
            yield one, row.pop()


class Alignment:
    """The sections and lines of two sides side by side.

    Attributes:
        forms: of texts and values of each side, comparable with those of the other one.
        scopes: corresponding sections, servers and .htaccess files, outer ones first; patterns may differ.
    """

    def __init__(self, sides: tuple[SideLines, SideLines]) -> None:
        self.sides = sides
        old, new = (lines.side.loaded for lines in sides)
        images = old.disk.image, new.disk.image
        self.forms = (
            ValueForms(old.root, new.root, *images, disk=old.disk),
            ValueForms(new.root, old.root, *images, disk=new.disk),
        )
        self._modules = tuple(lines.side.loaded.modules for lines in reversed(sides))
        directories = [{scope.args for scope in lines.scopes if scope.kind == "htaccess"} for lines in sides]
        self._in_place = directories[0] & directories[1]
        self._canonical: dict[ConfigLine, Form] = {}
        self._keys: dict[ConfigLine, Key] = {}
        self._own_keys: dict[tuple[LineScope, int], Hashable] = {}
        self.scopes = list(self._scope_pairs())

    # sections -----------------------------------------------------------------------------------------
    def _scope_pairs(self) -> Iterator[ScopePair]:
        inner: tuple[dict[int, list[LineScope]], ...] = ({}, {})
        for lines, found in zip(self.sides, inner, strict=True):
            for scope in lines.scopes:
                if scope.outer is not None:
                    found.setdefault(id(scope.outer), []).append(scope)
        waiting = deque([(self.sides[0].main, self.sides[1].main)])
        while waiting:
            pair = waiting.popleft()
            yield pair
            old, new = (found.get(id(scope), []) for found, scope in zip(inner, pair, strict=True))
            keys = [self.own_key(scope, 0) for scope in old], [self.own_key(scope, 1) for scope in new]
            aligned = align((old, new), keys, kind_of_scope)
            waiting.extend(aligned.equal)
            waiting.extend(aligned.replaced)

    def own_key(self, scope: LineScope, number: int) -> Hashable:
        """Return the key by which a section of side *number* corresponds to one of the other side, without
        the sections around it."""
        try:
            return self._own_keys[scope, number]
        except KeyError:
            key = self._own_key(scope, number)
            self._own_keys[scope, number] = key
            return key

    def _own_key(self, scope: LineScope, number: int) -> Hashable:
        if scope.kind == "server":
            return _server_key(scope)
        if scope.kind == "htaccess":
            return (
                "htaccess",
                scope.args if scope.args in self._in_place else self.forms[number].text(scope.args),
            )
        return section_key(scope, self.forms[number])

    def key(self, scope: LineScope | None, number: int, equal: EqualSections) -> Key:
        """Return the key of a section with those around it, outermost first."""
        keys: list[Hashable] = []
        while scope is not None:
            if scope.kind not in PLACES and id(scope) in equal:
                keys.append(self.own_key(equal[id(scope)], 0))
            else:
                keys.append(self.own_key(scope, number))
            scope = None if scope.kind in PLACES else scope.outer
        return tuple(reversed(keys))

    def moved(self, equal: EqualSections) -> tuple[set[int], set[int]]:
        """Return the sections, by identity, that both sides have in another order, where the order counts."""
        rows: list[dict[Key, list[LineScope]]] = [{}, {}]
        for number, (row, lines) in enumerate(zip(rows, self.sides, strict=True)):
            for scope in lines.scopes:
                if scope.kind not in PLACES and _is_ordered(scope):
                    around = self.key(scope.outer, number, equal)
                    row.setdefault((kind_of_scope(scope), *around), []).append(scope)
        found: tuple[set[int], set[int]] = (set(), set())
        for key in rows[0].keys() & rows[1].keys():
            pair = rows[0][key], rows[1][key]
            keys = [self.key(one, 0, equal) for one in pair[0]], [self.key(one, 1, equal) for one in pair[1]]
            common = set(keys[0]) & set(keys[1])
            old, new = (
                [one for one, own in zip(row, of_row, strict=True) if own in common]
                for row, of_row in zip(pair, keys, strict=True)
            )
            old_keys, new_keys = ([own for own in of_row if own in common] for of_row in keys)
            aligned = align((old, new), (old_keys, new_keys), kind_of_scope)
            for ids, left, peers in zip(found, aligned.left, pair, strict=True):
                ids.update(id(one) for one in left if _may_meet(one, peers))
        return found

    # lines --------------------------------------------------------------------------------------------
    def rows(self, equal: EqualSections) -> Iterator[Aligned[ConfigLine]]:
        """Yield the lines of one module in corresponding sections side by side, for those that differ.

        *equal* are sections of the new side with those of the old side that count as the same. A directive
        belongs to the module of the first side, the new one first, that knows it: versions moved some.
        """
        moved = self.moved(equal)
        groups: list[dict[Key, list[ConfigLine]]] = [{}, {}]
        for number, (found, lines) in enumerate(zip(groups, self.sides, strict=True)):
            for scope in lines.scopes:
                if not scope.lines:
                    continue
                key = self.key(scope, number, equal)
                if id(scope) in moved[number]:
                    key = (number, *key)
                for line in scope.lines:
                    if line.name not in CONDITIONAL:
                        found.setdefault((self._module_of(self._form(line, number)[0]), *key), []).append(
                            line
                        )
        for key in dict.fromkeys((*groups[0], *groups[1])):
            pair = groups[0].get(key, []), groups[1].get(key, [])
            keys = [self.line_key(x, 0) for x in pair[0]], [self.line_key(x, 1) for x in pair[1]]
            if keys[0] != keys[1]:
                yield align(pair, keys, _kind_of_line)

    @cached_property
    def paired_rows(self) -> list[Aligned[ConfigLine]]:
        """The `rows` where corresponding sections count as the same."""
        return list(self.rows({id(new): old for old, new in self.scopes}))

    def line_key(self, line: ConfigLine, number: int) -> Key:
        """Return the key of a line in its section; a file below the root counts with its content."""
        known = self._keys.get(line)
        if known is None:
            name, words = self._form(line, number)
            known = (name, line.container, *forms_of_words(name, words, self.forms[number]))
            self._keys[line] = known
        return known

    def _form(self, line: ConfigLine, number: int) -> Form:
        known = self._canonical.get(line)
        if known is None:
            known = canonical(line, self.sides[number].side.dialect)
            self._canonical[line] = known
        return known

    def _module_of(self, name: str) -> str:
        """Return the source of the module that has the directive; its name if none has it."""
        for loaded in self._modules:
            rows = loaded.rows(name) or loaded.rows("<" + name)
            if rows:
                return rows[0].module.source
        return name

    def differing(self, equal: EqualSections) -> tuple[list[ConfigLine], list[ConfigLine]]:
        """Return the lines of each side without a partner on the other one; *equal*: see `rows`.

        Left out are the lines of a directive that the other side has nowhere if they say what that side does
        without it. LoadModule lines are not among the lines of a side (`SideLines`).
        """
        found: tuple[list[ConfigLine], list[ConfigLine]] = ([], [])
        for row in self.rows(equal):
            for left, lines in zip(found, row.left, strict=True):
                left.extend(lines)
        old, new = (self._without_defaults(left, number) for number, left in enumerate(found))
        return old, new

    def _without_defaults(self, left: list[ConfigLine], number: int) -> list[ConfigLine]:
        other = self.sides[1 - number]
        names = {self._form(line, 1 - number)[0] for scope in other.scopes for line in scope.lines}
        own: dict[str, list[Form]] = {}
        for scope in self.sides[number].scopes:
            for line in scope.lines:
                form = self._form(line, number)
                if form[0] not in names:
                    own.setdefault(form[0], []).append(form)
        ignored = {name for name, forms in own.items() if says_default(forms, other.side.dialect)}
        forms = ((line, self._form(line, number)) for line in left)
        return [
            line
            for line, form in forms
            if form[0] not in ignored and not says_constant(form, other.side.dialect)
        ]


def section_key(scope: LineScope, form: ValueForms) -> Key:
    """Return kind, argument and form of matching of one section; <Files ~> is <FilesMatch>."""
    words = words_of(scope)
    kind = kind_of_scope(scope)
    is_regex = scope.kind.endswith("match")
    if words[:1] == ["~"]:
        words, is_regex = words[1:], True
    if kind in CONDITIONS:
        return (kind, " ".join(scope.args.split()))
    if kind == "directory" and not is_regex:
        words = [word.rstrip("/") or "/" for word in words]
    return (kind, is_regex, *map(form.text, words))


def words_of(scope: LineScope) -> list[str]:
    """Return the arguments of a section without their quotes."""
    return [word for word in scope.words() if word]


def has_pattern(scope: LineScope) -> bool:
    """Return True for a section with a pattern, wildcards or a condition."""
    words = words_of(scope)
    is_regex = scope.kind.endswith("match") or words[:1] == ["~"]
    return is_regex or scope.kind in CONDITIONS or any(set(word) & set("*?[") for word in words)


def kind_of_scope(scope: LineScope) -> str:
    """Return the kind that a section has in common with its twin that takes a pattern."""
    return scope.kind.removesuffix("match")


def _kind_of_line(line: ConfigLine) -> str:
    return family(line.name)


def _server_key(scope: LineScope) -> Key:
    if not scope.path:
        return ("server",)
    named = next((line for line in scope.lines if line.name == "servername"), None)
    name = " ".join(named.words()).lower() if named is not None else ""
    return ("server", *scope.args.rpartition(">")[0].split(), name)


def _is_ordered(scope: LineScope) -> bool:
    """Return True for sections that are merged in the order of the text; directories are by their length."""
    return scope.kind != "directory" or has_pattern(scope)


def _may_meet(scope: LineScope, others: Iterable[LineScope]) -> bool:
    """Return True if a request may be in *scope* and in another one."""
    if scope.kind != "location" or has_pattern(scope):
        return True
    path = _path_of(scope)
    return any(
        other.kind != "location" or has_pattern(other) or _is_within(path, _path_of(other))
        for other in others
        if other is not scope
    )


def _path_of(scope: LineScope) -> str:
    return "".join(words_of(scope)).rstrip("/") + "/"


def _is_within(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)
