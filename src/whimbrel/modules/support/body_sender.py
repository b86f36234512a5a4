"""Sending the body of a request to a program, beside waiting for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from whimbrel.backends.connection import BackendConnection
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError
from whimbrel.http.http1.chunked import BodyError

MAX_IN_MEMORY: Final = 65536  # bytes of a spooled request body; the rest is in a temporary file


class BodyInput(Protocol):
    """A request body: `RequestBody`, or one that was read before (`SpooledInput`)."""

    is_filtered: bool

    @property
    def ended(self) -> bool: ...

    async def read(self) -> bytes: ...


class SpooledInput:
    """A request body that was read to its end, for applications that must know its length."""

    ended = True
    is_filtered = False

    def __init__(self, in_memory: int = MAX_IN_MEMORY) -> None:
        from tempfile import SpooledTemporaryFile  # rare

        self._file = SpooledTemporaryFile(max(1, in_memory))
        self.length = 0

    def write(self, data: bytes) -> None:
        """Add *data*."""
        self._file.write(data)
        self.length += len(data)

    def rewind(self) -> None:
        """Return to the beginning, to read."""
        self._file.seek(0)

    async def fill(self, r: Request) -> None:
        """Read the body of *r*. Raises BodyError."""
        while data := await r.body_in.read():
            self.write(data)
        self.rewind()

    async def read(self) -> bytes:
        """Return the next bytes, b"" at the end."""
        return self._file.read(MAX_IN_MEMORY)

    def close(self) -> None:
        """Remove the file."""
        self._file.close()


class BodySender:
    """Sends a body as *frame* encodes it, then *end*, by *write*.

    Attributes:
        problem: the error because of which the body was not read to its end; the connection has failed then.
    """

    __slots__ = ("_connection", "_end", "_frame", "_task", "_write", "problem")

    def __init__(
        self,
        connection: BackendConnection,
        write: Callable[[bytes], object],
        frame: Callable[[bytes], bytes],
        end: bytes = b"",
    ) -> None:
        self._connection = connection
        self._write = write
        self._frame = frame
        self._end = end
        self.problem: BodyError | None = None
        self._task: asyncio.Task[None] | None = None

    async def send(self, body: BodyInput) -> None:
        """Send *body*: what is here and is taken at once, at once; the rest by a task."""
        connection = self._connection
        if body.ended and not body.is_filtered:
            while not connection.is_paused:
                data = await body.read()
                if not data:
                    self._finish()
                    return
                self._write(self._frame(data))
        await yield_to_loop()  # a task, in which the body can be awaited
        keeps_open, connection.keeps_open = connection.keeps_open, False
        self._task = asyncio.get_running_loop().create_task(self._send_rest(body, keeps_open))

    async def _send_rest(self, body: BodyInput, keeps_open: bool) -> None:
        connection = self._connection
        try:
            await connection.drain()
            while data := await body.read():
                self._write(self._frame(data))
                await connection.drain()
            self._finish()
            connection.keeps_open = keeps_open
        except BodyError as problem:
            self.problem = problem
            connection.fail(BackendError(problem.status))
        except BackendError:
            pass  # which the request learns by itself

    def _finish(self) -> None:
        if self._end:
            self._write(self._end)

    def stop(self) -> None:
        """Stop sending: the answer is complete, or not wanted."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
