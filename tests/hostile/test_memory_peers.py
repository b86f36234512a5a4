"""Directories and clients that fail: each takes its error path, and the server stays."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hostile.memory_peers import PeerFailure, peer_failures, peer_server
from tests.hostile.server import ServerProcess

OUTCOMES = {  # of clients: RFC 9113, sections 4.2, 5.1, 6 and 8
    "h2 upper-case name": "1:PROTOCOL_ERROR",
    "h2 control in value": "1:PROTOCOL_ERROR",
    "h2 late pseudo field": "1:PROTOCOL_ERROR",
    "h2 no pseudo field": "1:PROTOCOL_ERROR",
    "h2 connection field": "1:PROTOCOL_ERROR",
    "h2 bad HPACK": "GOAWAY-COMPRESSION_ERROR",
    "h2 cut head": "GOAWAY-PROTOCOL_ERROR",
    "h2 413": "1:413",  # apache2 with a CGI program; its reflector has begun a 200 by then
    "h2 body beyond length": "1:PROTOCOL_ERROR",
    "h2 body beyond window": "1:FLOW_CONTROL_ERROR",
    "h2 pseudo in trailers": "1:PROTOCOL_ERROR",
    "h2 bad padding": "GOAWAY-PROTOCOL_ERROR",
    "h2 frame too large": "GOAWAY-FRAME_SIZE_ERROR",
    "LDAP entries": "401",  # two entries for a user
    "LDAP denial": "401",  # the password is wrong
}
"""Outcomes by name; each other directory is a 500."""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    with peer_server() as process:
        yield process


@pytest.mark.parametrize("failure", peer_failures(), ids=lambda failure: failure.name)
def test_each_failure_takes_its_error_path(server: ServerProcess, failure: PeerFailure) -> None:
    workers = server.workers()
    (outcome,) = failure.send_all(server, 1)
    if failure.name.startswith("LDAP") or failure.name in OUTCOMES:
        assert outcome.decode() == OUTCOMES.get(failure.name, "500")
    assert server.get("/a.txt").endswith(b"plain a\n")
    assert server.workers() == workers
    assert "Traceback" not in server.output
