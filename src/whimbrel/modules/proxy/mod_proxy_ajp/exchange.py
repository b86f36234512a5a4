"""One request to an AJP back end: CPing, the pieces of the body that it requests, the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.backends.ajp import AjpRequest, body_message, cping
from whimbrel.backends.ajp_reader import AjpReader, read_cpong
from whimbrel.backends.connection import BackendConnection
from whimbrel.engine import identity
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.proxy.mod_proxy.program_exchange import ProgramExchange
from whimbrel.modules.support.reverse_dns import NAME_NOTE, client_address

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.proxy.mod_proxy.backend import Route
    from whimbrel.modules.proxy.mod_proxy.model import ProxyWorker

_MODULE: Final = "proxy_ajp"
_PREFIX: Final = "AJP_"
_AFTER_END: Final = "ap_proxy_ajp_request error read after end"


class CpongReader(AnswerReader):
    """Reads the answer to a CPing."""

    __slots__ = ("_data", "_server")

    def __init__(self, server: str) -> None:
        super().__init__()
        self._data = b""
        self._server = server

    def feed(self, data: bytes) -> None:
        self._data += data
        size = read_cpong(self._data, self._server)
        if size:
            self._end(self._data[size:])

    def eof(self, cause: str = "") -> None:
        read_cpong(b"", self._server, ended=True)


async def ping(connection: BackendConnection, server: str, timeout: float) -> None:
    """Send a CPing and wait for the CPong; raises BackendError."""
    reader = CpongReader(server)
    connection.begin(reader, timeout)
    connection.write(cping())
    while not reader.done:
        if connection.failure is not None:
            raise connection.failure
        await connection.changed()
    connection.reader = None


class AjpExchange(ProgramExchange):
    """One request to an AJP back end.

    Attributes:
        answer: the reader.
        has_sent_body: a part of the body is with the back end, so the request cannot be repeated.
        max_piece: bytes of the body in one message.
    """

    __slots__ = ("_data", "_has_ended", "_problem", "answer", "has_sent_body", "max_piece")

    def start(self, reader: AjpReader, head: bytes, max_piece: int, *, keeps_open: bool) -> None:
        """Send the forward request."""
        self._data = b""
        self._has_ended = False
        self.has_sent_body = False
        self.max_piece = max_piece
        self._problem: BodyError | None = None
        self.answer = reader
        self.begin(reader, head, keeps_open=keeps_open)

    def body_problem(self) -> BodyError | None:
        return self._problem

    async def begun(self) -> ResponseHead:
        """Return the head of the answer once a byte of its body must be sent, or it is complete: until then
        another status may take its place. Raises BackendError, BodyError.
        """
        head = await self.head()
        reader = self.answer
        connection = self.connection
        while not (reader.buffered or reader.done or reader.flushed):
            problem = self.body_problem() or connection.failure
            if problem is not None:
                raise problem
            if not await self.attend():
                await connection.changed()
        return head

    def take_body(self) -> None:
        """See ProgramExchange; a flush comes before the end, so httpd does not know the length."""
        if self.answer.flushed:
            self.r.chunked = True
        super().take_body()

    async def _piece(self) -> bytes:
        """Return the next piece of the body, b"" at its end. Raises BodyError."""
        if not self._data:
            body = self.r.body_in
            if not body.ended:
                await yield_to_loop()  # a task, in which the body can be awaited
            self._data = await body.read()
        piece, self._data = self._data[: self.max_piece], self._data[self.max_piece :]
        return piece

    async def send_first(self) -> bool:
        """Send the first piece of a body of known length; return False if there is none. Raises BodyError."""
        piece = await self._piece()
        if piece:
            self.write(body_message(piece))
            self.has_sent_body = True
        return bool(piece)

    async def attend(self) -> bool:
        """Send the piece of the body that the back end has requested; return False if it has not."""
        reader = self.reader
        if not reader.wanted or self.connection.failure is not None:
            return False
        reader.wanted = 0
        if self._has_ended:
            words = BackendMessage("debug", "AH00883", _AFTER_END, "", _MODULE)
            self.connection.fail(BackendError(500, words))
            return True
        try:
            piece = await self._piece()
        except BodyError as problem:
            self._problem = problem
            self.connection.fail(BackendError(problem.status))
            return True
        self._has_ended = not piece
        self.write(body_message(piece))
        return True


def request_of(r: Request, worker: ProxyWorker, route: Route) -> AjpRequest:
    """Return what the forward request consists of."""
    path, mark, query = route.target.partition("?")
    connection = r.connection
    return AjpRequest(
        method=r.method,
        protocol=r.protocol,
        path=path,
        remote_addr=client_address(r),
        remote_port=connection.client_port,
        local_addr=connection.local_ip,
        server_name=identity.server_name(r),
        server_port=connection.local_port,
        fields=r.headers_in.entries().values(),
        query=query if mark else None,
        remote_host=connection.notes.get(NAME_NOTE) or None,
        is_tls=identity.scheme(r) == "https",
        secret=worker.parameters.secret,
        user=r.user,
        auth_type=r.auth_type,
        route=r.notes.get("session-route", ""),
        attributes=[
            (name[len(_PREFIX) :], value) for name, value in r.env.items() if name.startswith(_PREFIX)
        ],
    )
