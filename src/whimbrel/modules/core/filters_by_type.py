"""AddOutputFilterByType of 2.2: the filters of a media type, added whenever a request gets that type.

httpd adds them in ap_set_content_type: for the file's type and for the type of ForceType, then for the types
that a handler sets, and for that of an error page. Manual: mod/core.html#addoutputfilterbytype.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.numbers import strip
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.modules.core.filters import known_filters, unknown_filter
from whimbrel.registry.module import CompiledHook, Scope
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

# Note: the media type that the filters were added for, and those set since, one a line; before the filters
# are inserted: the type that ForceType has replaced.
TYPES_NOTE: Final = "filters-by-type"
ERROR_TYPE: Final = "text/html; charset=iso-8859-1"
# Media types that name handlers begin so; every other file is sent by the default handler with its type.
HANDLER_TYPES: Final = ("httpd/", "application/x-httpd-")
Entry = tuple[list[OutputFilter], list[str]]


class TypeFilters(OutputFilter):
    """The first filter of a chain, which adds those of the types that a handler has set."""

    __slots__ = ("_by_type",)
    name = ""
    type = 0

    def __init__(self, by_type: dict[str, Entry]) -> None:
        self._by_type = by_type

    def add(self, r: Request, kind: str) -> None:
        """Add the filters of the media type *kind*; unknown ones are logged."""
        entry = self._by_type.get(strip(kind.partition(";")[0]))
        if entry is not None:
            for name in entry[1]:
                unknown_filter(r, name)
            for each in entry[0]:
                add_output_filter(r, each)

    def begin(self, r: Request) -> None:
        """Add the filters of the types that were set since the filter was inserted, then leave the chain."""
        done, *later = r.notes.pop(TYPES_NOTE).split("\n")
        for kind in later:
            self.add(r, kind)
        if r.content_type is not None and r.content_type != (later or [done])[-1]:
            self.add(r, r.content_type)


def set_content_type(r: Request, kind: str) -> None:
    """Set the media type that a handler announces (ap_set_content_type)."""
    if TYPES_NOTE in r.notes and kind != r.content_type:
        r.notes[TYPES_NOTE] += "\n" + kind
    r.set_untrusted_type(kind)


def compile_types(scope: Scope) -> TypeFilters | None:
    """Return the filter of a merged configuration; None without AddOutputFilterByType."""
    written = scope.dir_config(CoreDirConfig).filters_by_type
    if not written:
        return None
    return TypeFilters({kind: known_filters(scope, ";".join(names)) for kind, names in written.items()})


def make_insert_by_type(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filters of the file's type, before those of other directives."""
    filters = compile_types(scope)
    if filters is None:
        return None
    forced = scope.dir_config(CoreDirConfig).forced_type

    def insert(r: Request) -> HookStatus:
        kind = r.content_type or ""
        before = r.notes.pop(TYPES_NOTE, "")
        if before and forced is not None:
            filters.add(r, before)
        if kind:
            filters.add(r, kind)
        if r.handler is not None or not kind or kind.startswith(HANDLER_TYPES):
            r.notes[TYPES_NOTE] = kind
            add_output_filter(r, filters)
        return OK

    return CompiledHook(insert)


def make_insert_error_by_type(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filters of an error page."""
    filters = compile_types(scope)
    if filters is None:
        return None

    def insert(r: Request) -> HookStatus:
        if r.content_type != ERROR_TYPE:
            filters.add(r, ERROR_TYPE)
        return OK

    return CompiledHook(insert)
