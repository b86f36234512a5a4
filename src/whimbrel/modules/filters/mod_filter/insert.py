"""The hook that adds the smart filters of FilterChain."""

from __future__ import annotations

from whimbrel.config.core_config import CoreDirConfig
from whimbrel.engine.output.filter import add_output_filter
from whimbrel.engine.request import Request
from whimbrel.modules.filters.mod_filter.harness import RANGE_NOTE, Harness
from whimbrel.modules.filters.mod_filter.settings import FilterDirConfig, FilterServerConfig, since_reset
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import OK, HookStatus


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook; None without a chain.  It logs the filters that are not declared."""
    conf = scope.dir_config(FilterDirConfig)
    protocols = scope.server_config(FilterServerConfig).protocols
    names = [name for name in since_reset(conf.chain) if name is not None]
    if not names:
        return None
    compiled = {name: Harness(smart, protocols) for name, smart in conf.filters.items() if name in names}
    # Content-MD5 depends on the type of the first filter
    may_skip = not scope.dir_config(CoreDirConfig).content_md5
    chain = [compiled.get(name, name) for name in names]

    def insert(r: Request) -> HookStatus:
        has_ranges = True  # an earlier filter may change the media type; without any, `excludes` is right
        for each in chain:
            if isinstance(each, str):
                r.log("warn", f"Unknown filter {each} not added", code="AH01380", module="filter")
                continue
            if may_skip and not r.output_filters and each.excludes(r):
                continue
            add_output_filter(r, each)
            if has_ranges and each.hides_range:
                has_ranges = False
                hide_range(r)
        return OK

    return CompiledHook(insert, Reads.FIELDS)


def hide_range(r: Request) -> None:
    """Remove the Range field, until a provider without ``byteranges=no`` is selected."""
    value = r.headers_in.get("Range")
    if value is not None:
        r.notes[RANGE_NOTE] = value
        r.headers_in.unset("Range")
