"""Requests that an exception ends: the client gets 500, and the access log one line; a failure of the machine
leaves no traceback.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from errno import EIO
from pathlib import Path
from typing import NoReturn

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from tests.hostile.http2_frames import ACK, PREFACE, SETTINGS, frame, outcome_of, request, settings
from tests.performance.site import BenchmarkWorker
from tests.support.fakes import FakeTransport

from whimbrel.engine.body import Aborted
from whimbrel.engine.request import Request
from whimbrel.modules.core import handler
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.testing.fake_runtime import FakeRuntime

PLAIN = b"GET /1k.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
BINARY = PREFACE + settings() + frame(SETTINGS, ACK) + request(1, path="/1k.html")
ORDER = PLAIN, BINARY


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[BenchmarkWorker]:
    yield BenchmarkWorker(tmp_path)


def failing(problem: BaseException) -> object:
    def send_file(r: Request) -> NoReturn:
        raise problem

    return send_file


def outcome(worker: BenchmarkWorker, data: bytes) -> tuple[int, list[bytes], bytes]:
    """Return the status of the response to *data*, the lines of the access log, and the error log."""
    wire = FakeTransport()
    first = Http1Connection(worker.service)
    first.connection_made(wire)
    first.data_received(data)
    worker.service.write_gathered()
    runtime = worker.engine.runtime
    assert isinstance(runtime, FakeRuntime)
    logs = {name.rpartition("/")[2]: lines for name, lines in runtime.logs.items()}
    if data is PLAIN:
        status = int(wire.out.split()[1])
    else:
        status = int(outcome_of(wire.out, closed=False).streams[1])
    return status, logs.get("access_log", []), b"".join(logs.get("error_log", []))


@pytest.mark.parametrize("data", ORDER, ids=("http1", "http2"))
@pytest.mark.parametrize("problem", [RuntimeError("oops"), Aborted("half")], ids=("defect", "aborted"))
def test_an_unexpected_exception_is_logged_as_500(
    worker: BenchmarkWorker, monkeypatch: pytest.MonkeyPatch, data: bytes, problem: Exception
) -> None:
    monkeypatch.setattr(handler, "send_file", failing(problem))
    status, lines, _ = outcome(worker, data)
    assert status == 500
    assert len(lines) == 1 and b'" 500 ' in lines[0]
    assert worker.problems == [problem]


@pytest.mark.parametrize("data", ORDER, ids=("http1", "http2"))
@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (OSError(EIO, os.strerror(EIO)), b"(5)Input/output error: "),
        (MemoryError(), b"(12)Cannot allocate memory: "),
    ],
    ids=("disk", "memory"),
)
def test_a_failure_of_the_machine_is_an_error_of_the_request(
    worker: BenchmarkWorker, monkeypatch: pytest.MonkeyPatch, data: bytes, problem: Exception, cause: bytes
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(handler, "send_file", failing(problem))
        status, lines, errors = outcome(worker, data)
    assert status == 500
    assert len(lines) == 1 and b'" 500 ' in lines[0]
    assert errors.count(b"\n") == 1 and cause in errors
    assert b"request failed in send_file, line " in errors
    assert worker.problems == []
    assert outcome(worker, data)[0] == 200
