"""The server's side of one process of analysis: one job at a time, with a limit of time."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from typing import Final

from whimbrel.studio.documents import Refused
from whimbrel.studio.nursery import MESSAGE
from whimbrel.studio.process import DONE, LENGTH, MAX_REPLY, Files, job_frame

MAX_WAITING: Final = 32
"""Jobs of one process that wait or run."""
INTERRUPTED: Final = (
    "interrupted: the files were read again, or the process that worked on it has ended; try again"
)
FrameMaker = Callable[[str], tuple[str, bytes]]
"""From the version that the process has to the one that it gets, and the frame of the job."""


def job_frame_maker(job: str, arguments: Mapping[str, object], version: str, files: Files) -> FrameMaker:
    """Return what makes the frame of a job, with the texts where the process has another version."""

    def make(known: str) -> tuple[str, bytes]:
        return version, job_frame(job, arguments, files if version != known else None)

    return make


class Superseded(Exception):
    """A later job has taken the place of one that waited or ran."""


class Analyst:
    """One process, started at its first job; its jobs run one after the other.

    Attributes:
        name: what it is for.
    """

    def __init__(self, control: socket.socket, name: str) -> None:
        self.name = name
        self._control = control
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pid = 0
        self._version = ""
        self._lock = asyncio.Lock()
        self._running = ""
        self._newest: dict[str, int] = {}
        self._count = 0
        self._tasks: set[asyncio.Task[bytes]] = set()

    async def run(
        self,
        job: str,
        arguments: Mapping[str, object],
        version: str,
        files: Files,
        *,
        seconds: float,
        replaces: bool = False,
        ends: bool = False,
    ) -> bytes:
        """Return the JSON of *job*; raises Superseded, or Refused, as after *seconds* or if the process ends.

        With *replaces*, earlier jobs of this name that wait are given up; with *ends*, one that runs is ended
        with its process.
        """
        if len(self._tasks) >= MAX_WAITING:
            raise Refused("too many requests wait: try again", 503)
        self._count += 1
        number = self._count
        if replaces:
            self._newest[job] = number
        if ends and self._running == job:
            self.restart()
        waiting = job if replaces else ""
        work = self._run(waiting, number, job_frame_maker(job, arguments, version, files), seconds)
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return await asyncio.shield(task)  # it outlives a client that leaves: its reply must be read

    def restart(self) -> None:
        """End the process; the next job starts another one."""
        if self._pid:
            self._control.send(b"end %d" % self._pid)
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
        self._pid = 0

    def _forget(self, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read, also where the client is gone

    async def _run(self, name: str, number: int, make: FrameMaker, seconds: float) -> bytes:
        async with self._lock:
            if name and self._newest[name] != number:
                raise Superseded
            self._running = name
            try:
                return await asyncio.wait_for(self._exchange(make), seconds)
            except TimeoutError:
                self.restart()
                raise Refused(f"stopped after {seconds:g} seconds", 503) from None
            except (OSError, EOFError):
                self.restart()
                if name and self._newest[name] != number:
                    raise Superseded from None
                raise Refused(INTERRUPTED, 503) from None
            finally:
                self._running = ""

    async def _exchange(self, make: FrameMaker) -> bytes:
        if self._streams is None:
            await self._start()
        assert self._streams is not None
        reader, writer = self._streams
        self._version, data = make(self._version)
        writer.write(data)
        await writer.drain()
        size = int.from_bytes(await reader.readexactly(LENGTH), "big")
        if size > MAX_REPLY:
            raise OSError("a frame is too long")
        reply = await reader.readexactly(size)
        if reply[:1] == DONE:
            return reply[1:]
        reason = json.loads(reply[1:])
        raise Refused(str(reason["error"]), int(reason["status"]))

    async def _start(self) -> None:
        try:
            self._control.send(b"new")
            message, handles, _flags, _address = socket.recv_fds(self._control, MESSAGE, 1)
        except OSError:
            handles = []
        if not handles:
            raise Refused("a part of the studio has ended: start it again", 503)
        self._pid = int(message)
        self._version = ""
        connection = socket.socket(fileno=handles[0])
        connection.setblocking(False)
        self._streams = await asyncio.open_connection(sock=connection, limit=1 << 20)
