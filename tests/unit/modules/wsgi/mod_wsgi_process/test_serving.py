"""A thread of a process: connections that it keeps, gives up and closes."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.support.wsgi_process import RunningProcess, Wire

from whimbrel.modules.wsgi.mod_wsgi_process.dispatcher import MAX_PRESSED
from whimbrel.modules.wsgi.mod_wsgi_process.records import CLOSING, LOG, Channel, ClientGone

SCRIPT = """
import weakref
KEPT = []
def application(environ, start_response):
    query = environ["QUERY_STRING"]
    if query == "keep":
        KEPT.append(environ["wsgi.errors"])
    if query == "environ":
        KEPT.append(environ)
    if query == "write":
        environ["wsgi.errors"].write("line")
    if query == "close":
        environ["wsgi.errors"].close()
    if query == "detach":
        environ["wsgi.errors"].detach()
    data = "%d %d" % (environ["mod_wsgi.thread_requests"], id(environ["wsgi.errors"]))
    write = start_response("200 OK", [("Content-Type", "text/plain")])
    if query == "writer":
        KEPT.append(write)
    if query == "iterator":
        failing = Failing()
        KEPT.append(weakref.ref(failing))
        return failing
    return [data.encode()] if query != "property" else Result()

class Failing:
    def __iter__(self):
        raise ValueError(self)

class Result:
    close = property(lambda self: 1 / 0)
    def __iter__(self):
        return iter([b"x"])
"""


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningProcess]:
    """Yield a process."""
    found = RunningProcess(tmp_path, monkeypatch, SCRIPT)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningProcess]:
    """Yield a process whose thread does not run."""
    found = RunningProcess(tmp_path, monkeypatch, SCRIPT)
    yield found
    found.stop()


def test_a_connection_serves_many_requests(running: RunningProcess) -> None:
    wire = Wire(running.path)
    for number in range(3):
        body, is_kept = running.ask(wire)
        assert body.startswith(b"%d " % number)
        assert is_kept
    assert running.process.requests == 3


def test_an_idle_connection_is_given_up_for_a_new_one(running: RunningProcess) -> None:
    first = Wire(running.path)
    assert running.ask(first)[1]
    second = Wire(running.path)
    assert running.ask(second)[1]
    assert first.channel.next_record() == (CLOSING, b"")
    assert first.socket.recv(1) == b""
    assert running.process.requests == 2


def test_a_request_that_comes_too_late_is_not_begun(running: RunningProcess) -> None:
    first = Wire(running.path)
    running.ask(first)
    with running.process.loading:  # the thread waits with the request of the second connection
        second = Wire(running.path)
        second.send(running.script)
        assert first.channel.next_record() == (CLOSING, b"")
    assert second.answer()[0].startswith(b"1 ")
    with pytest.raises(OSError, match="pipe|reset"):
        for _ in range(3):
            first.send(running.script)
            time.sleep(0.01)  # the end of the connection has to arrive
    assert running.process.requests == 2


def test_connections_that_wait_have_their_turn(idle: RunningProcess) -> None:
    first = Wire(idle.path)
    first.send(idle.script)
    idle.serve_once()
    assert first.answer()[1]
    second = Wire(idle.path)
    second.send(idle.script)
    found = []
    for _ in range(MAX_PRESSED):
        first.send(idle.script)
        idle.serve_once()
        found.append(first.answer()[1])
    assert found == [True] * (MAX_PRESSED - 1) + [False]
    idle.serve_once()
    assert second.answer()[1]


def test_an_idle_connection_without_requests_makes_room(idle: RunningProcess) -> None:
    first = Wire(idle.path)
    first.send(idle.script)
    second = Wire(idle.path)
    second.send(idle.script)
    idle.serve_once()
    assert first.answer()[1]
    idle.serve_once()
    assert second.answer()[1]
    assert first.channel.next_record() == (CLOSING, b"")


@pytest.mark.parametrize(
    ("query", "is_new"), [("", 0), ("keep", 1), ("environ", 1), ("write", 1), ("close", 1), ("detach", 1)]
)
def test_a_stream_for_errors_serves_on_if_nobody_knows_it(
    running: RunningProcess, query: str, is_new: int
) -> None:
    wire = Wire(running.path)
    running.ask(wire)
    assert running.thread.errors._stream is not None
    running.ask(wire, query)
    stream = running.thread.errors._stream
    assert (stream is None) == bool(is_new)
    module = running.process.modules[str(running.script)]
    for kept in module.__dict__["KEPT"]:
        errors = kept["wsgi.errors"] if query == "environ" else kept
        with pytest.raises(RuntimeError, match="log object has expired"):
            errors.write("x")
            errors.flush()
    assert running.ask(wire)[1]


def test_output_after_the_end_gets_into_no_other_answer(idle: RunningProcess) -> None:
    wire = Wire(idle.path)
    wire.send(idle.script, "writer")
    late: list[bytes] = []
    send = Channel.send

    def write_first(channel: Channel, data: bytes) -> None:
        """Send *data* when a thread of the application has passed all checks of its response."""
        send(channel, data)
        if data[1] == LOG:
            return
        response = idle.process.modules[str(idle.script)].__dict__["KEPT"][0].__self__
        for write in (channel.output, channel.hold, partial(channel.send_output, b"")):
            with pytest.raises(RuntimeError, match="request object has expired"):
                write(b"late", response)
        late.append(data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Channel, "send", write_first)
        idle.serve_once()
    assert len(late) == 1
    assert wire.answer()[1]
    wire.send(idle.script)
    idle.serve_once()
    assert wire.answer()[0].startswith(b"1 ")


def test_a_thread_outlives_each_fault_of_an_application(running: RunningProcess) -> None:
    wire = Wire(running.path)
    wire.send(running.script, "property")
    with pytest.raises(ClientGone):
        wire.answer()
    assert running.ask(Wire(running.path))[1]


def test_a_connection_does_not_wait_for_several_long_requests(
    idle: RunningProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Wire(idle.path)
    first.send(idle.script)
    idle.serve_once()
    assert first.answer()[1]
    second = Wire(idle.path)
    second.send(idle.script)
    first.send(idle.script)
    monkeypatch.setattr("whimbrel.modules.wsgi.mod_wsgi_process.dispatcher.MAX_PRESSED_TIME", -1.0)
    idle.serve_once()
    assert not first.answer()[1]
    idle.serve_once()
    assert second.answer()[1]


def test_a_thread_does_not_wait_for_a_connection_without_a_request(idle: RunningProcess) -> None:
    """Such as one whose event another thread has seen: this one would serve nothing else, and never end."""
    first = Wire(idle.path)
    idle.serve_once()
    second = Wire(idle.path)
    second.send(idle.script)
    idle.serve_once()
    assert second.answer()[1]
    assert first.channel.next_record() == (CLOSING, b"")


def test_requests_that_were_not_read_are_given_up_at_the_end(idle: RunningProcess) -> None:
    """The reset tells the server that the request was not read (`was_unread`): it sends the request again."""
    wire = Wire(idle.path)
    wire.send(idle.script)
    idle.process.dispatcher._poll()
    idle.process.stop()
    assert not idle.thread.serve_one()
    with pytest.raises(ConnectionResetError):
        wire.socket.recv(1)


def test_a_failure_outside_of_the_application_closes_one_connection(
    idle: RunningProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(number: int) -> None:
        raise MemoryError(number)

    lines: list[str] = []
    wire = Wire(idle.path)
    wire.send(idle.script)
    with monkeypatch.context() as patch:
        patch.setattr(idle.process, "begin_request", fail)
        patch.setattr(idle.process, "log", lambda level, text: lines.append(f"{level} {text}"))
        idle.serve_once()
    assert lines == ["crit Thread of daemon process 'g' failed between requests: MemoryError(1)."]
    with pytest.raises(ClientGone):
        wire.answer()
    wire = Wire(idle.path)
    wire.send(idle.script)
    idle.serve_once()
    assert wire.answer()[0].startswith(b"0 ")


def test_threads_end_when_one_fails_between_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the others would wait for the one that waited for events."""
    running = RunningProcess(tmp_path, monkeypatch, SCRIPT, 3)
    running.start()
    running.ask(Wire(running.path))

    def fail() -> None:
        raise MemoryError

    monkeypatch.setattr(running.process.dispatcher, "_accept", fail)
    Wire(running.path)
    for runner in running._runners:
        runner.join(10)
        assert not runner.is_alive()
    assert running.process.is_stopping
    running.stop()


def test_an_iterator_that_fails_is_freed_without_the_collector(idle: RunningProcess) -> None:
    """mod_wsgi makes no cycle with the traceback; applications turn the collector off."""
    wire = Wire(idle.path)
    wire.send(idle.script, "iterator")
    gc.disable()
    try:
        idle.serve_once()
        kept = idle.process.modules[str(idle.script)].__dict__["KEPT"]
        assert kept[-1]() is None
    finally:
        gc.enable()
