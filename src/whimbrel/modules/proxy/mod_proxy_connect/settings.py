"""The settings record of mod_proxy_connect."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.registry.settings import setting


def joined(base: list[tuple[int, int]], over: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of both."""
    return base + over


@dataclass(slots=True)
class ConnectServerConfig:
    """Per-server settings.

    Attributes:
        ports: AllowCONNECT of 2.4: first and last port of each range; [] means 443 and 563.
    """

    ports: list[tuple[int, int]] = setting(make=list, merge=joined)
