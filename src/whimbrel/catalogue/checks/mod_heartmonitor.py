"""mod_heartmonitor's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.mod_heartbeat import address
from whimbrel.catalogue.checks.numbers import atoi
from whimbrel.catalogue.checks.rules import Rule, when

SERVERS = "HeartbeatMaxServers: Should be 0 for file storage, or greater or equal than 10 for slotmem"

CHECKS: dict[str, Rule] = {
    "heartbeatlisten": address("HeartbeatListen", "multicast address"),
    "heartbeatmaxservers": when(lambda words, around: atoi(words[0]) < 10 and atoi(words[0]) != 0, SERVERS),
}
