"""mod_lbmethod_heartbeat (2.4): members by chance, in proportion to the idle workers that they report.

The reports come from mod_heartmonitor: from its shared memory if it has any (HeartbeatMaxServers), else from
the file of HeartbeatStorage.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.support.setters import set_path
from whimbrel.registry.module import Module
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class HeartbeatMethodServerConfig:
    """Settings of the main server: the file of the reports, "" for logs/hb.dat."""

    path: str = setting("")


def register(configuration: Configuration) -> None:
    """Register the method."""
    from whimbrel.modules.proxy.balancers.heartbeat import ByHeartbeat  # only a server needs it

    conf = configuration.main.config(HeartbeatMethodServerConfig)
    method = ByHeartbeat(conf.path or f"{configuration.root}/logs/hb.dat")
    configuration.modules.register_provider("lbmethod", "heartbeat", method)


MODULE: Final = Module(
    name="lbmethod_heartbeat_module",
    source="mod_lbmethod_heartbeat.c",
    versions=Versions.V24,
    server_config=HeartbeatMethodServerConfig,
    server_setters={
        "HeartbeatStorage": set_path("path"),
    },
    register=(register,),
)
