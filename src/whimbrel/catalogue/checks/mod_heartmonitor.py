"""mod_heartmonitor's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.numbers import atoi
from whimbrel.catalogue.checks.rules import Around, Rule, when

SERVERS = "HeartbeatMaxServers: Should be 0 for file storage, or greater or equal than 10 for slotmem"


def _listen(words: list[str], around: Around) -> str | None:
    _, _, port = words[0].rpartition(":")
    if port == words[0] or not port.isdigit():
        return "HeartbeatListen: No port provided in multicast address"
    return None if 0 < int(port) <= 65535 else "HeartbeatListen: Unable to parse multicast address."


CHECKS: dict[str, Rule] = {
    "heartbeatlisten": _listen,
    "heartbeatmaxservers": when(lambda words, around: atoi(words[0]) < 10 and atoi(words[0]) != 0, SERVERS),
}
