"""Makers of the hooks, which need no library where no exporter is set."""

from __future__ import annotations

from whimbrel.modules.third_party.mod_otel import OtelServerConfig
from whimbrel.registry.module import CompiledHook, Scope


def make_begin(scope: Scope) -> CompiledHook | None:
    """Begin the span of a request."""
    if not scope.server_config(OtelServerConfig).exporter:
        return None
    from whimbrel.modules.third_party.mod_otel import spans

    return spans.make_begin(scope)


def make_outbound(scope: Scope) -> CompiledHook | None:
    """Begin the span of a request to a back end."""
    if not scope.server_config(OtelServerConfig).exporter:
        return None
    from whimbrel.modules.third_party.mod_otel import spans

    return spans.make_outbound(scope)


def make_end(scope: Scope) -> CompiledHook | None:
    """End the spans of a request."""
    if not scope.server_config(OtelServerConfig).exporter:
        return None
    from whimbrel.modules.third_party.mod_otel import spans

    return spans.make_end(scope)
