"""Answers to tls-alpn-01 for mod_ssl, read from the store for single handshakes (RFC 8737)."""

from __future__ import annotations

import ssl

from whimbrel.base.numbers import lower
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.engine.connection import Connection
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.md.mod_md.challenges import tls_answer
from whimbrel.modules.md.mod_md.hooks import CHALLENGE_NOTE
from whimbrel.modules.md.mod_md.manager import manager_of
from whimbrel.modules.md.mod_md.store import is_safe


def answer(
    configuration: Configuration, connection: Connection, server: Server, name: str
) -> tuple[tuple[bytes, ...], bytes] | None:
    """Return certificate in DER and key in PEM for a challenge of *name*, None without one."""
    manager = manager_of(configuration)
    low = lower(name)
    if manager is None or not is_safe(low):
        return None
    try:
        found = tls_answer(manager.store, manager.domains, low)
        der = None if found is None else ssl.PEM_cert_to_DER_cert(found[0].decode("ascii"))
    except (OSError, ValueError):
        found = None
        der = None
    if found is None or der is None:
        if manager.log_connection is not None:
            line = LogLine("info", f"{name}: unknown tls-alpn-01 challenge host", "AH10080", "md")
            manager.log_connection(connection, server, line)
        return None
    connection.notes[CHALLENGE_NOTE] = "1"
    return (der,), found[1]
