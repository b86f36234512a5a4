"""Settings of mod_proxy_hcheck."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.expr.api import CompiledCondition

DEFAULT_CHECKS: Final = 16  # that run at the same time


@dataclass(slots=True)
class HealthCheckServerConfig:
    """Per-server settings.

    Attributes:
        templates: parameters by the name of the template, in lower case.
        conditions: ProxyHCExpr, by name. `limit`: ProxyHCTPsize.
    """

    templates: dict[str, dict[str, str]] = setting(make=dict)
    conditions: dict[str, CompiledCondition] = setting(make=dict)
    limit: int = setting(DEFAULT_CHECKS)
