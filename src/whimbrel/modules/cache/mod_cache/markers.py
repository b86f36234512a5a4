"""Filters of mod_cache that a configuration may name: the marker CACHE, and those that mod_cache adds."""

from __future__ import annotations

from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.engine.output.filter import FilterType, OutputFilter
from whimbrel.modules.cache.mod_cache.settings import CacheServerConfig
from whimbrel.registry.module import Provider

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MODULE: Final = "cache"


class CacheMarker(OutputFilter):
    """Output filter CACHE: the place in the chain at which the normal handler caches."""

    name = "CACHE"

    def begin(self, r: Request) -> None:
        """Log that no handler has replaced the marker, and leave the chain."""
        if r.server_conf(CacheServerConfig).is_quick:
            text = "cache: CACHE filter was added in quick handler mode and will be ignored: "
            r.log("warn", text + r.untracked_target, code="AH00776", module=MODULE)
        else:
            text = (
                "cache: CACHE filter was added twice, or was added where the cache has been bypassed and "
                "will be ignored: "
            )
            r.log("debug", text + r.untracked_target, code="AH00777", module=MODULE)


class StatelessFilter(OutputFilter):
    """A filter of mod_cache without the state of a request, since a configuration has added it."""

    __slots__ = ("_code", "_level", "_shows_uri", "_text", "name", "type")

    def __init__(self, name: str, kind: int, line: tuple[str, str, str], *, shows_uri: bool = False) -> None:
        self.name = name
        self.type = kind
        self._level, self._code, self._text = line
        self._shows_uri = shows_uri

    def begin(self, r: Request) -> None:
        """Log that the filter has nothing to do, and leave the chain."""
        text = self._text + (r.uri if self._shows_uri else "")
        r.log(self._level, text, code=self._code, module=MODULE)


_BEFORE = FilterType.CONTENT_SET - 1
_BEHIND = FilterType.CONTENT_SET + 1
_SAVE: Final = ("error", "AH00767", "CACHE/CACHE_SAVE filter enabled while caching is disabled, ignoring")
_OUT: Final = ("error", "AH00762", "CACHE/CACHE_OUT filter enabled while caching is disabled, ignoring")
_REMOVE: Final = ("debug", "AH00775", "cache: CACHE_REMOVE_URL enabled unexpectedly")
_INVALIDATE: Final = ("debug", "AH02465", "cache: CACHE_INVALIDATE enabled unexpectedly: ")
FILTERS: Final[tuple[OutputFilter, ...]] = (
    CacheMarker(),
    StatelessFilter("CACHE_SAVE", _BEHIND, _SAVE),
    StatelessFilter("CACHE_SAVE_SUBREQ", _BEFORE, _SAVE),
    StatelessFilter("CACHE_OUT", _BEHIND, _OUT),
    StatelessFilter("CACHE_OUT_SUBREQ", _BEFORE, _OUT),
    StatelessFilter("CACHE_REMOVE_URL", FilterType.PROTOCOL, _REMOVE),
    StatelessFilter("CACHE_INVALIDATE", FilterType.PROTOCOL, _INVALIDATE, shows_uri=True),
)
PROVIDERS: Final = tuple(Provider("output_filter", each.name.lower(), each) for each in FILTERS)
