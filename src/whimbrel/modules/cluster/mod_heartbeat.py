"""mod_heartbeat (2.4): reports the busy and idle workers of this server once a second, by multicast."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.cluster.multicast import parse_address, sender
from whimbrel.registry.module import Module
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import RequestEngine

INTERVAL: Final = 1.0  # seconds
VERSION: Final = 1


@dataclass(slots=True)
class HeartbeatServerConfig:
    """Settings of the main server: the multicast address and port, None without one."""

    address: tuple[str, int] | None = setting(None)


def set_address(_cmd: Command, conf: HeartbeatServerConfig, words: list[str]) -> None:
    """Set HeartbeatAddress."""
    conf.address = parse_address("HeartbeatAddress", words[0], "address", is_set=conf.address is not UNSET)


async def begin(engine: RequestEngine) -> None:
    """Report from one worker."""
    address = engine.configuration.main.config(HeartbeatServerConfig).address
    if address is None:
        return
    import asyncio  # only a server needs it

    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, sock=sender()
    )

    async def report() -> None:
        transport.sendto(message(engine).encode(), address)

    engine.runtime.every("heartbeat", INTERVAL, report)


def message(engine: RequestEngine) -> str:
    """Return the report: the number of idle and of busy workers."""
    letters = "".join(worker.letters for worker in engine.runtime.scoreboard.workers())
    ready = letters.count("_")
    busy = len(letters) - ready - letters.count(".") - letters.count("S") - letters.count("I")
    return f"v={VERSION}&ready={ready}&busy={busy}"


MODULE: Final = Module(
    name="heartbeat_module",
    source="mod_heartbeat.c",
    versions=Versions.V24,
    server_config=HeartbeatServerConfig,
    server_setters={
        "HeartbeatAddress": set_address,
    },
    worker_begins=(begin,),
)
