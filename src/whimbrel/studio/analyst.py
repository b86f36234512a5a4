"""The server's side of one process of analysis: one job at a time, with a limit of time."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Mapping
from typing import Final

from whimbrel.studio.documents import Refused
from whimbrel.studio.nursery import MESSAGE
from whimbrel.studio.process import DONE, LENGTH, MAX_FRAME, Files, job_frame

MAX_WAITING: Final = 8
"""Jobs of one process that wait; the oldest gives way."""


class Superseded(Exception):
    """A later job of the same kind has taken the place of one that waited or ran."""


class Analyst:
    """One process, started at its first job.

    Attributes:
        name: what it is for.
    """

    def __init__(self, control: socket.socket, name: str) -> None:
        self.name = name
        self._control = control
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._pid = 0
        self._version = -1
        self._running: asyncio.Task[bytes] | None = None
        self._running_kind = ""
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    async def run(
        self,
        job: str,
        arguments: Mapping[str, object],
        version: int,
        files: Files,
        *,
        seconds: float,
        replaces: bool = False,
    ) -> bytes:
        """Return the JSON of *job*; raises Refused, also after *seconds*, and Superseded.

        A job that waits gives way to a later one of its kind. With *replaces*, one that runs does so too: its
        process is ended.
        """
        self._supersede(job)
        if replaces and self._running is not None and self._running_kind == job:
            self._end()
        if self._running is not None:
            await self._turn(job)
        self._running_kind = job
        self._running = asyncio.ensure_future(self._exchange(job, arguments, version, files))
        self._running.add_done_callback(self._next)
        task = self._running
        try:
            # the task outlives a client that leaves: its reply must be read
            return await asyncio.wait_for(asyncio.shield(task), seconds)
        except TimeoutError:
            self._end()
            raise Refused(f"stopped after {seconds:.0f} seconds", 503) from None
        except asyncio.CancelledError:
            if task.cancelled():  # by a later job; otherwise the client has left
                raise Superseded from None
            raise
        except (OSError, asyncio.IncompleteReadError, EOFError):
            self._drop()
            raise Superseded from None

    def _supersede(self, job: str) -> None:
        """Refuse the waiting jobs of the same kind, and those that are too many."""
        for waiting in list(self._waiting):
            if waiting[0] == job or len(self._waiting) >= MAX_WAITING:
                self._waiting.remove(waiting)
                if not waiting[1].done():
                    waiting[1].set_exception(Superseded())

    async def _turn(self, job: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        entry = (job, turn)
        self._waiting.append(entry)
        try:
            await turn
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    def _next(self, task: asyncio.Task[bytes]) -> None:
        if task is self._running:
            self._running = None
        if not task.cancelled():
            task.exception()  # read, also where the client is gone
        while self._waiting and self._running is None:
            _job, turn = self._waiting.pop(0)
            if not turn.done():
                turn.set_result(None)
                return

    async def _exchange(self, job: str, arguments: Mapping[str, object], version: int, files: Files) -> bytes:
        if self._streams is None:
            await self._start()
        assert self._streams is not None
        reader, writer = self._streams
        writer.write(job_frame(job, arguments, version, files if version != self._version else None))
        self._version = version
        await writer.drain()
        size = int.from_bytes(await reader.readexactly(LENGTH), "big")
        if size > MAX_FRAME:
            raise OSError("a frame is too long")
        reply = await reader.readexactly(size)
        if reply[:1] == DONE:
            return reply[1:]
        reason = json.loads(reply[1:])
        raise Refused(str(reason["error"]), int(reason["status"]))

    async def _start(self) -> None:
        self._control.send(b"new")
        message, handles, _flags, _address = socket.recv_fds(self._control, MESSAGE, 1)
        self._pid = int(message)
        self._version = -1
        connection = socket.socket(fileno=handles[0])
        connection.setblocking(False)
        self._streams = await asyncio.open_connection(sock=connection, limit=1 << 20)

    def restart(self) -> None:
        """End the process: files on disk have changed."""
        self._end()

    def _end(self) -> None:
        """End the process and the job that it runs."""
        if self._pid:
            self._control.send(b"end %d" % self._pid)
        self._drop()
        if self._running is not None:
            self._running.cancel()
            self._running = None

    def _drop(self) -> None:
        """Forget the process; the next job starts another one."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None
        self._pid = 0
