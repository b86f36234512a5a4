"""The table of the connections that requests share."""

from __future__ import annotations

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from types import SimpleNamespace
from typing import Any

from whimbrel.modules.proxy.mod_proxy_http2.sessions import MAX_SESSIONS, session_of


def test_connections_that_leave_the_table_are_closed() -> None:
    engine, retired = SimpleNamespace(worker_state={}), list[int]()
    for number in range(MAX_SESSIONS):
        connection: Any = SimpleNamespace(retire=lambda number=number: retired.append(number))
        session_of(engine, (number,)).current = connection
    assert session_of(engine, (0,)).current is not None
    assert retired == []
    assert session_of(engine, ("new",)).current is None
    assert retired == list(range(MAX_SESSIONS))
    assert session_of(engine, (0,)).current is None
