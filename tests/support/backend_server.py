"""A back end on the loopback that a test scripts, and a reader for its answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage, ResponseHead
from whimbrel.http.semantics.headers import Headers


class LengthReader(AnswerReader):
    """Reads an answer that begins with one byte: the length of its body. "E" is an error."""

    def __init__(self) -> None:
        super().__init__()
        self._left = -1

    def feed(self, data: bytes) -> None:
        """Read the length, then the body."""
        if self._left < 0:
            if data[:1] == b"E":
                raise BackendError(502, BackendMessage("error", "AH00000", "bad answer"))
            self._left, data = data[0], data[1:]
            self.head = ResponseHead((1, 1), 200, "OK", Headers())
        self._add(data[: self._left])
        rest = data[self._left :]
        self._left -= min(self._left, len(data))
        if not self._left:
            self.reusable = True
            self._end(rest)

    def eof(self, cause: str = "") -> None:
        """An answer has to be complete."""
        raise BackendError(502, BackendMessage("error", "AH00001", "ended early", cause))


class BackendServer:
    """A server that calls *answer* with the writer for each piece of a request.

    Attributes:
        accepted: number of connections so far; `open`: of those that are open.
    """

    def __init__(self, answer: Callable[[bytes, asyncio.StreamWriter], None]) -> None:
        self._answer = answer
        self.accepted = self.open = 0

    async def __aenter__(self) -> BackendServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = ("127.0.0.1", int(self._server.sockets[0].getsockname()[1]))
        return self

    async def __aexit__(self, *_problem: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.open += 1
        try:
            while data := await reader.read(65536):
                self._answer(data, writer)
        except ConnectionError:
            pass
        finally:
            self.open -= 1
            writer.close()
