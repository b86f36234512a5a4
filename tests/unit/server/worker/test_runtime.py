"""Runtime of a worker: periodic work in one of several processes, connections out."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from whimbrel.base.dialect import V24
from whimbrel.server.logs.logs import Logs
from whimbrel.server.worker.runtime import MAX_SCRIPTS, MAX_THREADS, ServerRuntime, thread_count


@pytest.fixture
def runtime() -> ServerRuntime:
    return ServerRuntime(Logs(V24, "apache2", "/"), 1)


def _child(runtime: ServerRuntime, out: int, number: bytes) -> None:
    """Run periodic work that writes *number*, until the parent closes the pipe or two seconds have passed."""

    async def work() -> None:
        os.write(out, number)

    async def main() -> None:
        runtime.every("work", 0.02, work)
        await asyncio.sleep(2)

    try:
        asyncio.run(main())
    finally:
        os._exit(0)


def test_periodic_work_runs_in_one_process_and_moves_when_that_ends(runtime: ServerRuntime) -> None:
    inlet, out = os.pipe()
    children: list[int] = []
    for number in (b"1", b"2"):
        pid = os.fork()
        if not pid:
            _child(runtime, out, number)
        children.append(pid)
    first = {os.read(inlet, 1) for _ in range(5)}
    assert len(first) == 1
    holder = children[int(first.pop()) - 1]
    os.kill(holder, 9)
    os.waitpid(holder, 0)
    other = b"2" if holder == children[0] else b"1"
    assert other in {os.read(inlet, 1) for _ in range(10)}
    for pid in children:
        if pid != holder:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
    os.close(inlet)
    os.close(out)


def test_an_error_of_periodic_work_is_reported_and_the_work_continues(runtime: ServerRuntime) -> None:
    calls: list[int] = []
    reports: list[BaseException] = []
    runtime.report = reports.append

    async def work() -> None:
        calls.append(1)
        raise ValueError

    async def main() -> None:
        periodic = runtime.every("failing", 0.001, work)
        await asyncio.sleep(0.05)
        periodic.cancel()

    asyncio.run(main())
    assert len(calls) > 1 and isinstance(reports[0], ValueError)


class _Peer(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self.address = transport.get_extra_info("peername")
        self.local = transport.get_extra_info("sockname")
        transport.close()


def test_shared_work_ends_when_a_worker_retires(runtime: ServerRuntime) -> None:
    """Work of this worker alone goes on."""

    async def main() -> tuple[bool, bool]:
        async def work() -> None:
            await asyncio.sleep(60)

        shared = runtime.every("shared", 1, work)
        own = runtime.every("own", 1, work, once=False)
        await asyncio.sleep(0)
        runtime.end_shared_work()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        result = shared.cancelled(), own.cancelled()  # type: ignore[attr-defined]
        own.cancel()
        return result

    assert asyncio.run(main()) == (True, False)


def test_connect_reaches_an_address_a_path_and_raises_for_a_closed_port(
    runtime: ServerRuntime, tmp_path: Path
) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as local:
            port = listener.getsockname()[1]
            local.bind(str(tmp_path / "s"))
            local.listen()
            peer = await runtime.connect(_Peer, ("127.0.0.1", port), timeout=2, source="127.0.0.2")
            assert (peer.address, peer.local[0]) == (("127.0.0.1", port), "127.0.0.2")
            assert (await runtime.connect(_Peer, str(tmp_path / "s"), timeout=2)).address == str(
                tmp_path / "s"
            )
        with pytest.raises(ConnectionRefusedError):
            await runtime.connect(_Peer, ("127.0.0.1", port), timeout=2)

    asyncio.run(main())


def test_connect_ends_after_its_time_limit(runtime: ServerRuntime) -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
            address = listener.getsockname()
            fill = [socket.socket() for _ in range(3)]
            for client in fill:
                client.setblocking(False)
                client.connect_ex(address)
            with pytest.raises(TimeoutError):
                await runtime.connect(_Peer, address, timeout=0.1)
            for client in fill:
                client.close()

    asyncio.run(main())


def test_endless_scripts_delay_no_other_work_and_their_number_is_bounded(runtime: ServerRuntime) -> None:
    has_ended, begun = threading.Event(), []

    def script() -> None:
        begun.append(1)
        has_ended.wait(30)

    async def main() -> None:
        scripts = [
            asyncio.ensure_future(runtime.in_script_thread(script, has_ended.set))
            for _ in range(MAX_SCRIPTS + 2)
        ]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(runtime.in_thread(lambda: 1), 5) == 1
        read = runtime.in_script_thread(lambda: 2, has_ended.set, is_input=True)
        assert await asyncio.wait_for(read, 5) == 2
        while len(begun) < MAX_SCRIPTS:
            await asyncio.sleep(0.01)
        scripts[-1].cancel()
        await asyncio.wait(scripts[-1:])
        has_ended.set()
        await asyncio.wait(scripts)
        assert len(begun) == MAX_SCRIPTS + 1

    asyncio.run(main())


def test_a_cancelled_script_is_abandoned_and_awaited(runtime: ServerRuntime) -> None:
    abandoned, ended = threading.Event(), []

    def script() -> None:
        ended.append(abandoned.wait(30))

    async def main() -> None:
        running = asyncio.ensure_future(runtime.in_script_thread(script, abandoned.set))
        await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert ended == [True]

    asyncio.run(main())


def test_slow_directories_leave_threads_to_other_work() -> None:
    pytest.importorskip("ldap", reason="python-ldap is not installed")
    from whimbrel.modules.ldap.mod_ldap.worker import MAX_WAITING

    assert MAX_WAITING <= thread_count(1) // 2
    assert thread_count(25) == 25 and thread_count(1000) == MAX_THREADS


def test_lookups_that_hang_delay_no_other_work(
    runtime: ServerRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()

    def hang(*_arguments: object, **_options: object) -> list[Any]:
        released.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)

    async def main() -> None:
        lookups = [asyncio.ensure_future(runtime.resolve("name.test")) for _ in range(2 * MAX_THREADS)]
        await asyncio.sleep(0.1)
        assert await asyncio.wait_for(runtime.in_thread(lambda: 1), 5) == 1
        released.set()
        assert await asyncio.gather(*lookups) == [[]] * len(lookups)

    try:
        asyncio.run(main())
    finally:
        released.set()
