"""Origins of settings: which line of which file set a field of a layer or server.

They are recorded under `LoadOptions.origins`, for explanations: `RecordingContext` executes directives as
`CommandContext` does and compares the records that a setter was handed before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from itertools import compress
from operator import attrgetter, is_not
from typing import Any, Final, NamedTuple, TypeVar

from whimbrel.base.errors import SourceLocation
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import CommandContext
from whimbrel.config.loaded import BoundDirective
from whimbrel.config.model import Layer, Server
from whimbrel.directives.node import Node
from whimbrel.registry.settings import UNSET, field_names, has_merge

R = TypeVar("R")
ENTIRE: Final = object()  # the item that stands for a whole field
SERVER_FIELDS: Final = ("name", "names", "wild_names", "port", "path", "admin", "scheme")
Holder = Layer | Server
_CHANGING: Final = (dict, list, set)
MAX_COPIED: Final = 64
"""Items of a list that is copied before each directive."""


class Origin(NamedTuple):
    """The line that set a value: its location and its text, without continuation and indentation."""

    place: SourceLocation
    text: str


class OriginKey(NamedTuple):
    """A field of a record type, and a key or element of it, or ENTIRE."""

    record: Any  # a type
    field: str
    item: Hashable = ENTIRE


Origins = dict[Any, list[Origin]]  # by OriginKey


def command_context(
    configuration: Configuration, server: Server, layer: Layer, allowed: int | None = None
) -> CommandContext:
    """Return the context in which directives are executed: one that records, if the options say so."""
    kind = RecordingContext if configuration.options.origins else CommandContext
    if allowed is None:
        return kind(configuration, server, layer)
    return kind(configuration, server, layer, allowed)


class RecordingContext(CommandContext):
    """A walk through a tree that records the origin of each field that a directive changes.

    Containers record nothing: each directive in them does so for itself.
    """

    _touched: dict[tuple[int, type[Any]], tuple[Holder, list[Any]]] | None = None

    def dir_config(self, kind: type[R]) -> R:
        self._touch(self.layer, kind)
        return super().dir_config(kind)

    def server_config(self, kind: type[R]) -> R:
        self._touch(self.current_server, kind)
        return super().server_config(kind)

    def main_server(self, kind: type[R]) -> R:
        self._touch(self.configuration.main, kind)
        return super().main_server(kind)

    def _touch(self, holder: Holder, kind: type[Any]) -> None:
        touched = self._touched
        if touched is not None and (id(holder), kind) not in touched:
            record = holder.records.get(kind)
            touched[id(holder), kind] = holder, [] if record is None else _snapshot(kind, record)

    def _invoke(self, row: BoundDirective, node: Node) -> None:
        if row.name[0] == "<":
            super()._invoke(row, node)
            return
        outer, self._touched = self._touched, {}
        server = self.current_server
        before = _server_fields(server)
        if row.dir_config is not None:
            self._touch(self.layer, row.dir_config)
        elif row.server is not None:
            self._touch(server, row.server)
        try:
            super()._invoke(row, node)
            origin = Origin(node.place, f"{node.spelled or node.name} {node.args}".rstrip())
            for (_holder, kind), (holder, values) in self._touched.items():
                _record(holder, kind, values, origin)
            if before != _server_fields(server):
                for name, old, new in zip(SERVER_FIELDS, before, _server_fields(server), strict=True):
                    if old != new:
                        _add(server, OriginKey(Server, name), origin)
        finally:
            self._touched = outer


def _server_fields(server: Server) -> tuple[Any, ...]:
    names = server.names
    wild = server.wild_names
    return (server.name, tuple(names), tuple(wild), server.port, server.path, server.admin, server.scheme)


class _LongList(NamedTuple):
    """A list of more than MAX_COPIED items, with its length before a directive.

    Directives only append to such a list; a copy for each of them would take quadratic time.
    """

    items: list[Any]
    length: int


def _snapshot(kind: Any, record: object) -> list[Any]:
    """Return the values of a record's fields; those that setters may change in place are copied."""
    return [_copied(value) if isinstance(value, _CHANGING) else value for value in _getter(kind)(record)]


def _copied(value: Any) -> Any:
    is_long = isinstance(value, list) and len(value) > MAX_COPIED
    return _LongList(value, len(value)) if is_long else value.copy()


@cache
def _getter(kind: Any) -> Callable[[object], tuple[Any, ...]]:
    """Return the function that reads all fields of a record of the type *kind*."""
    names = field_names(kind)
    return attrgetter(*names) if len(names) > 1 else lambda record: tuple(getattr(record, n) for n in names)


def _record(holder: Holder, kind: Any, before: list[Any], origin: Origin) -> None:
    record = holder.records.get(kind)
    if record is None:
        return
    names = field_names(kind)
    old_values = before or [UNSET] * len(names)
    new_values = _getter(kind)(record)
    fields = zip(names, old_values, new_values, strict=True)
    for name, old, new in compress(fields, map(is_not, old_values, new_values)):
        if isinstance(old, _LongList) and new is old.items:
            if len(new) == old.length:
                continue
            items: Iterable[Hashable] = map(item_key, new[old.length :])
        else:
            old = old.items if isinstance(old, _LongList) else old
            if new is old or (type(new) is type(old) and isinstance(new, _CHANGING) and new == old):
                continue
            items = _new_items(old, new)
        _add(holder, OriginKey(kind, name), origin)
        for item in items:
            _add(holder, OriginKey(kind, name, item), origin)


def _add(holder: Holder, key: OriginKey, origin: Origin) -> None:
    if holder.origins is None:
        holder.origins = {}
    holder.origins.setdefault(key, []).append(origin)


def _new_items(old: object, new: object) -> Iterable[Hashable]:
    """Return the keys of dictionary *new* whose values changed, or the elements of *new* that *old* lacks."""
    if isinstance(new, dict):
        known = old if isinstance(old, dict) else {}
        return [key for key, value in new.items() if key not in known or known[key] != value]
    if isinstance(new, list | tuple):
        if isinstance(old, list | tuple) and len(new) == len(old) + 1 and (not old or new[-2] is old[-1]):
            return [item_key(new[-1])]
        present = {id(item) for item in old} if isinstance(old, list | tuple) else set()
        return [item_key(item) for item in new if id(item) not in present]
    if isinstance(new, frozenset | set):
        return new - old if isinstance(old, frozenset | set) else new
    return ()


def item_key(item: object) -> Hashable:
    """Return *item*, or its identity if it is not hashable."""
    try:
        hash(item)
    except TypeError:
        return id(item)
    return item


def merged_origins(base: Origins | None, over: Origins | None) -> Origins | None:
    """Return the origins of one layer merged on another."""
    if not base or not over:
        return over or base
    merged = dict(base)
    for key, origins in over.items():
        below = base.get(key) if key.item is ENTIRE and has_merge(key.record, key.field) else None
        merged[key] = [*below, *origins] if below else origins
    return merged


def origin_of(holders: Sequence[Holder], key: OriginKey) -> tuple[Origin, ...]:
    """Return the lines that set *key*, the outermost first; *holders* are in the order of merging.

    A field that inner layers replace has the lines of the innermost that sets it; one with a merge function
    has those of all layers.  () stands for a default.
    """
    if key.item is ENTIRE and has_merge(key.record, key.field):
        return tuple(line for holder in holders if holder.origins for line in holder.origins.get(key, ()))
    for holder in reversed(holders):
        if holder.origins and key in holder.origins:
            return tuple(holder.origins[key])
    return ()
