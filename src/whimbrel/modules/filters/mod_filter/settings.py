"""Smart filters and chains as directives declare them: the records of mod_filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.output.filter import FilterProtocol, FilterType, OutputFilter
from whimbrel.registry.settings import overlaid, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Test = Callable[["Request"], bool]


@dataclass(frozen=True, slots=True)
class FilterRule:
    """A provider of a smart filter and its condition.

    Attributes:
        provider: the filter that the provider stands for.
        types: the media types of AddOutputFilterByType; None if *test* decides.
        test: the condition of FilterProvider.
        protocol: FilterProtocol for this provider in a .htaccess file; None elsewhere.
    """

    provider: OutputFilter
    types: tuple[str, ...] | None = None
    test: Test | None = None
    protocol: FilterProtocol | None = None


@dataclass(frozen=True, slots=True)
class SmartFilter:
    """A filter of FilterDeclare; *rules* are in the order of evaluation, the last one declared first."""

    name: str
    type: int = FilterType.RESOURCE
    rules: tuple[FilterRule, ...] = ()
    protocol: FilterProtocol = FilterProtocol.NONE
    traced: bool = False


Chain = tuple[str | None, ...]


def joined(base: Chain, over: Chain) -> Chain:
    """Merge two chains; what stands before the last reset (None) has no effect."""
    return since_reset(base + over)


def since_reset(chain: Chain) -> Chain:
    """Return the chain from its last reset on."""
    for at in range(len(chain) - 1, 0, -1):
        if chain[at] is None:
            return chain[at:]
    return chain


@dataclass(slots=True)
class FilterDirConfig:
    """Per-directory settings: declared filters by name, and names of filters to insert (None: a reset)."""

    filters: dict[str, SmartFilter] = setting(make=dict, merge=overlaid)
    chain: Chain = setting((), merge=joined)


@dataclass(slots=True)
class FilterServerConfig:
    """Settings of the main server: FilterProtocol of providers, for all uses of the filter."""

    protocols: dict[str, FilterProtocol] = setting(make=dict, merge=overlaid)


def own_filters(conf: FilterDirConfig) -> dict[str, SmartFilter]:
    """Return the filters that *conf* itself declares, as its own dictionary."""
    if not isinstance(conf.filters, dict):
        conf.filters = {}
    return conf.filters
