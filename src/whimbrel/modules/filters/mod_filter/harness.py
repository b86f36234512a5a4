"""The output filter that stands for a smart filter: it selects a provider when the response begins."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.engine.body import FileSegment, Source, is_complete, size_of
from whimbrel.engine.output.filter import Begun, FilterProtocol, FilterType, OutputFilter
from whimbrel.engine.request import Request
from whimbrel.modules.core.filters_by_type import HANDLER_TYPES
from whimbrel.modules.filters.mod_filter.settings import FilterRule, SmartFilter
from whimbrel.registry.module import Reads

RANGE_NOTE: Final = "filter-saved-range"  # the Range field that a chain with byteranges=no removed
_MEDIA_END: Final = compile(r"[; \t]", re.ASCII)


def media_type(kind: str) -> str:
    """Return a media type without its parameters."""
    end = _MEDIA_END.search(kind)
    return kind if end is None else kind[: end.start()]


class Harness(OutputFilter):
    """A smart filter of one plan, compiled.

    Where only media types decide, and no provider minds proxies, one dictionary gives the rule.

    Attributes:
        hides_range: the chain removes the Range field of the request.
        is_computed: every provider is; another one may run sub-requests, which must not wait for its slot.
    """

    __slots__ = (
        *("_by_type", "_filter", "_prepares", "_protocols"),
        *("hides_range", "is_computed", "name", "type"),
    )

    def __init__(self, smart: SmartFilter, protocols: dict[str, FilterProtocol]) -> None:
        """*protocols*: FilterProtocol of providers, by their names in lower case."""
        self._filter = smart
        self.name = smart.name
        # httpd adds the filters of a type behind those that are there: its header filter, of type PROTOCOL
        self.type = smart.type + 1 if smart.type == FilterType.PROTOCOL else smart.type
        self._protocols = [
            rule.protocol
            if rule.protocol is not None
            else protocols.get(rule.provider.name.lower(), rule.provider.protocol)
            for rule in smart.rules
        ]
        self.hides_range = bool(smart.protocol & (FilterProtocol.NO_BYTERANGE | FilterProtocol.CHANGE_LENGTH))
        self.is_computed = all(rule.provider.is_computed for rule in smart.rules)
        self._prepares = any(type(rule.provider).insert is not OutputFilter.insert for rule in smart.rules)
        self._by_type: dict[str, int] | None = None
        if all(rule.types is not None for rule in smart.rules):
            self._by_type = {}
            for index, rule in enumerate(smart.rules):
                for kind in rule.types or ():
                    self._by_type.setdefault(kind, index)

    def excludes(self, r: Request) -> bool:
        """Return True if the file of *r* has a media type for which there is no provider.

        That is certain before the handler runs: the default handler sends the file with its type.
        """
        kind = r.content_type
        return (
            self._by_type is not None
            and r.handler is None
            and not r.proxy
            and not self.hides_range
            and not self._filter.traced
            and not self._prepares
            and kind is not None
            and media_type(kind) not in self._by_type
            and not kind.startswith(HANDLER_TYPES)
        )

    def insert(self, r: Request) -> None:
        """Prepare every provider (mod_filter's filter_init)."""
        for rule in self._filter.rules:
            rule.provider.insert(r)

    def begin(self, r: Request) -> Begun | Awaitable[Begun]:
        """Return the state of the selected provider; None if there is none."""
        if r.status != 200 and "filter-errordocs" not in r.env:
            return None
        if self._filter.traced:
            self._trace(r)
        if r.proxy and not _may_transform(r, self._filter.protocol):
            return None
        index = self._select(r)
        if index is None:
            return None
        if self._protocols[index] is not FilterProtocol.NONE or RANGE_NOTE in r.notes:
            _apply_protocol(r, self._protocols[index])
        provider = self._filter.rules[index].provider
        begun = provider.begin_in(r, self.name)
        if begun is not None and provider.reads is not Reads.HEAD:  # operations on flags are slow
            if provider.reads & (Reads.UNCACHEABLE | Reads.TIME):
                r.set_uncacheable()
            if provider.reads & Reads.CLIENT:
                r.deps.on_client = True
        return begun

    def _select(self, r: Request) -> int | None:
        """Return the index of the rule that applies."""
        kind = r.content_type
        if self._by_type is not None and not r.proxy:
            return None if kind is None else self._by_type.get(media_type(kind))
        match = False  # httpd keeps it for the next rule if the provider cannot be used
        for index, rule in enumerate(self._filter.rules):
            match = _matches(r, rule, match)
            if match and (not r.proxy or _may_transform(r, self._protocols[index], warn=True)):
                return index
        return None

    def _trace(self, r: Request) -> None:
        """Log the name and the first brigade at debug level."""
        r.log("debug", self.name, code="AH01375", module="filter")
        is_file = r.handler is None and len(r.body) == 1 and r.finfo is not None
        buckets = [
            ("FILE" if is_file or isinstance(part, FileSegment) else "HEAP", size_of(part))
            for part in r.body
            if not isinstance(part, Source)
        ]
        for kind, size in (*buckets, ("EOS", 0))[: None if is_complete(r.body) else -1]:
            r.log("debug", f"{self.name}: type: {kind}, length: {size}", code="AH01376", module="filter")


def _matches(r: Request, rule: FilterRule, before: bool) -> bool:
    if rule.test is not None:
        return rule.test(r)
    kind = r.content_type
    if kind is None or media_type(kind) not in (rule.types or ()):
        return before
    return True


def _may_transform(r: Request, flags: FilterProtocol, *, warn: bool = False) -> bool:
    """Return True if a filter with *flags* may run on a proxied response; *warn* adds the Warning field."""
    if flags & FilterProtocol.NO_PROXY:
        return False
    if flags & FilterProtocol.TRANSFORM:
        if "no-transform" in (r.headers_out.get_list("Cache-Control") or "").lower():
            return False
        if warn:
            r.headers_out.add("Warning", f"214 {r.hostname} Transformation applied")
    return True


def _apply_protocol(r: Request, flags: FilterProtocol) -> None:
    """Change the fields as FilterProtocol of the selected provider requests."""
    out = r.headers_out
    if flags & FilterProtocol.CHANGE:
        out.unset("Content-MD5")
        out.unset("ETag")
        if flags & FilterProtocol.CHANGE_LENGTH:
            out.unset("Content-Length")
    if flags & FilterProtocol.NO_CACHE:
        out.unset("Last-Modified")
        out.add("Cache-Control", "no-cache")
    if flags & FilterProtocol.NO_BYTERANGE:
        out.set("Accept-Ranges", "none")
    elif RANGE_NOTE in r.notes:
        r.headers_in.set("Range", r.notes.pop(RANGE_NOTE))
