"""OPTIONS * and TRACE: responses of 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

FILES = {"htdocs/f.txt": "hello\n"}


def test_trace_gives_the_head_back(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, "", FILES), "/f.txt", "X-One: 1", method="TRACE")
    assert reply.headers == [("Transfer-Encoding", "chunked"), ("Content-Type", "message/http")]
    assert "TRACE /f.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-One: 1\r\n\r\n" in reply.body


def test_the_connection_ends_a_body_for_a_client_that_awaits_100_continue(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, "", FILES)
    reply = fetch(engine, "/f.txt", "Expect: 100-continue", method="TRACE")
    assert ("Transfer-Encoding", "chunked") not in reply.headers
    assert "Expect: 100-continue\r\n" in reply.body


def test_trace_with_a_body(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, "", FILES), "/f.txt", method="TRACE", body="abc").status == 413
    assert (
        fetch(
            build_engine(tmp_path, "TraceEnable extended", FILES), "/f.txt", method="TRACE", body="payload"
        ).body.count("payload")
        == 1
    )
    assert (
        fetch(
            build_engine(tmp_path, "TraceEnable extended", FILES), "/f.txt", method="TRACE", body="a" * 70_000
        ).status
        == 413
    )


def test_trace_off(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, "TraceEnable off", FILES), "/f.txt", method="TRACE")
    assert (reply.status, reply.get("Allow")) == (405, "")


def test_options_star(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, "", FILES), "*", method="OPTIONS")
    assert (reply.status, reply.headers, reply.body) == (200, [("Content-Length", "0")], "")
