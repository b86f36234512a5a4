"""Interim responses of HTTP/2: HEADERS frames before the final one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.fakes import EagerTaskLoop, FakeTransport

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import InformationalResponseReceived, ResponseReceived
from tests.performance.site import BenchmarkWorker

from whimbrel.engine.request import Request
from whimbrel.server.http1.connection import Http1Connection

FIELDS = [("Link", "</a.css>; rel=preload; nopush"), ("Connection", "close"), ("X-Bad", "a\nb")]


def test_hints_come_before_the_final_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = BenchmarkWorker(tmp_path)
    site.loop = site.service.loop = EagerTaskLoop()  # type: ignore[assignment]
    respond = site.engine.respond
    late: list[Any] = []

    def hinting(connection: Any, head: Any, body: Any) -> Any:
        late.append(connection)
        r = Request(site.engine, connection, site.engine.main, site.engine.plans.root(site.engine.main))
        r.interim(103, FIELDS)
        r.proto = (2, 0)
        r.interim(103, FIELDS)
        r.proto = (1, 0)
        r.interim(103, FIELDS)
        return respond(connection, head, body)

    monkeypatch.setattr(site.engine, "respond", hinting)
    wire = FakeTransport(("192.0.2.7", 40_000))
    client = H2Connection(H2Configuration(header_encoding="latin-1"))
    client.initiate_connection()
    first = Http1Connection(site.service)
    first.connection_made(wire)
    first.data_received(client.data_to_send())
    wire.protocol.settings.early_hints = True
    client.send_headers(
        1,
        [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/1k.html")],
        end_stream=True,
    )
    wire.protocol.data_received(client.data_to_send())
    for _ in range(3):
        site.loop.tick()
    events = client.receive_data(wire.out)
    heads = [e for e in events if isinstance(e, InformationalResponseReceived | ResponseReceived)]
    assert [type(e) for e in heads] == [InformationalResponseReceived] * 2 + [ResponseReceived]
    assert [(str(n), str(v)) for n, v in heads[0].headers] == [(":status", "103"), ("link", FIELDS[0][1])]
    assert late[0].send_interim is None
    assert not site.problems
