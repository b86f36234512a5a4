"""Settings of mod_heartmonitor."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.registry.settings import setting

DEFAULT_SERVERS: Final = 10


@dataclass(slots=True)
class HeartmonitorServerConfig:
    """Settings of the main server.

    Attributes:
        address: HeartbeatListen, None without it. `path`: HeartbeatStorage, "" for logs/hb.dat.
        most: HeartbeatMaxServers; 0: a file instead of shared memory.
    """

    address: tuple[str, int] | None = setting(None)
    path: str = setting("")
    most: int = setting(DEFAULT_SERVERS)
