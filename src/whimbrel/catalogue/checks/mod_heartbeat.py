"""mod_heartbeat's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule


def _address(words: list[str], around: Around) -> str | None:
    _, _, port = words[0].rpartition(":")
    if port == words[0] or not port.isdigit():
        return "HeartbeatAddress: No port provided in address"
    return None if 0 < int(port) <= 65535 else "HeartbeatAddress: Unable to parse address."


CHECKS: dict[str, Rule] = {"heartbeataddress": _address}
