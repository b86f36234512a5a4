"""mod_heartbeat's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule


def address(name: str, kind: str) -> Rule:
    """HOST:PORT as APR parses it: digits alone are a port."""

    def rule(words: list[str], around: CheckContext) -> str | None:
        host, colon, port = words[0].rpartition(":")
        if not port.isdigit():
            return f"{name}: No port provided in {kind}"
        if not 0 < int(port) <= 65535 or (colon and not host):
            return f"{name}: Unable to parse {kind}."
        return None if colon and host else f"{name}: No host provided in {kind}"

    return rule


CHECKS: dict[str, Rule] = {"heartbeataddress": address("HeartbeatAddress", "address")}
