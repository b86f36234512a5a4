"""mod_heartmonitor (2.4): collects the reports of servers, for mod_lbmethod_heartbeat.

They arrive by multicast (HeartbeatListen) or by POST to the handler ``heartbeat``, and are kept in shared
memory (HeartbeatMaxServers) or in the file of HeartbeatStorage.
"""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.base.errors import ConfigError, PostConfigError
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.cluster.multicast import parse_address
from whimbrel.modules.cluster.settings import DEFAULT_SERVERS, HeartmonitorServerConfig
from whimbrel.modules.support.setters import set_path
from whimbrel.registry.module import Hook, Module, Order, Segment, lazy_maker
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.settings import UNSET

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import RequestEngine

_PACKAGE: Final = "whimbrel.modules.cluster.monitor"
_NO_SLOTS: Final = (
    "AH02284: failed to lookup provider 'shm' for 'slotmem', maybe you need to load mod_slotmem_shm?"
)


def set_listen(_cmd: Command, conf: HeartmonitorServerConfig, words: list[str]) -> None:
    """Set HeartbeatListen."""
    is_set = conf.address is not UNSET
    conf.address = parse_address("HeartbeatListen", words[0], "multicast address", is_set=is_set)


def set_most(_cmd: Command, conf: HeartmonitorServerConfig, words: list[str]) -> None:
    """Set HeartbeatMaxServers."""
    if atoi(words[0]) != 0 and atoi(words[0]) < DEFAULT_SERVERS:
        raise ConfigError(
            "HeartbeatMaxServers: Should be 0 for file storage, or greater or equal than "
            f"{DEFAULT_SERVERS} for slotmem"
        )
    conf.most = atoi(words[0])


def check_providers(configuration: Configuration) -> None:
    """Raise PostConfigError without mod_watchdog, or without slots where they are required."""
    if not configuration.loaded("watchdog_module"):
        line = ("crit", "AH02093: mod_watchdog is required")
        raise PostConfigError("heartmonitor", line, repeat_in_log=True)
    if configuration.main.config(HeartmonitorServerConfig).most:
        if configuration.provider("slotmem", "shm") is None:
            raise PostConfigError("heartmonitor", ("emerg", _NO_SLOTS), repeat_in_log=True)
        configuration.modules.register_provider("heartmonitor", "memory", True)


def segments(configuration: Configuration) -> Iterable[Segment]:
    """Return the memory of the reports."""
    from whimbrel.modules.support.heartbeats import NAME, HeartbeatRecord

    most = configuration.main.config(HeartmonitorServerConfig).most
    return (Segment(NAME, most * HeartbeatRecord.SIZE, "1"),) if most else ()


async def begin(engine: RequestEngine) -> None:
    """Listen in one worker."""
    if engine.configuration.main.config(HeartmonitorServerConfig).address is not None:
        from whimbrel.modules.cluster import monitor

        monitor.start(engine)


MODULE: Final = Module(
    name="heartmonitor_module",
    source="mod_heartmonitor.c",
    versions=Versions.V24,
    server_config=HeartmonitorServerConfig,
    server_setters={
        "HeartbeatListen": set_listen,
        "HeartbeatStorage": set_path("path"),
        "HeartbeatMaxServers": set_most,
    },
    hooks=(Hook(HANDLER, lazy_maker(_PACKAGE, "make_handler"), Order.FIRST),),
    post_config=(check_providers,),
    shared=(segments,),
    worker_begins=(begin,),
)
