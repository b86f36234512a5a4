"""Client connections as the phases see them: httpd's conn_rec."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import asyncio

    from whimbrel.engine.tls import TlsSession

# note of a connection with the user's name that the client's host gave (mod_ident)
REMOTE_IDENT_NOTE: Final = "remote-ident"


# Function to call once when a protocol that has taken a client connection over ends: with the bytes that it
# has sent and received.
TakeoverEnd = Callable[[int, int], None]
# Function that takes a client connection over after the head of a response: a transport (of a stream in
# HTTP/2), and the function to call at the end. The protocol that it returns receives the client's bytes. See
# `Request.takeover`.
Takeover = Callable[["asyncio.Transport", TakeoverEnd], "asyncio.Protocol"]


@dataclass(slots=True)
class Connection:
    """One client connection; addresses are numeric, *served* is the number of earlier requests on it."""

    client_ip: str
    client_port: int
    local_ip: str
    local_port: int
    served: int = 0
    id: int = 0
    aborted: bool = False
    is_draining: bool = False  # the server is stopping: the next response is the last and announces it
    # client address that mod_remoteip determined for the present request; "" means client_ip
    useragent_ip: str = ""
    # address that access control compares for the present request, where it is not useragent_ip (mod_rpaf)
    peer_addr: str = ""
    user_port: int = 0  # the port that belongs to it: 0 where a field named the address
    proxied: tuple[str, int] | None = None  # client and port that the proxy named when the connection began
    interim_bytes: int = 0  # of interim responses to the present request
    is_http2: bool = False  # a connection of one stream of HTTP/2
    tls: TlsSession | None = None
    # bytes that httpd's filters peek at and %I counts twice: of the first request, of each later one
    peeked: tuple[int, int] = (0, 0)
    # bytes in which the head of the present request came (HTTP/2); None: those of the head itself
    head_received: int | None = None
    log_id: str = ""  # given by the first line about it in the error log
    notes: dict[str, str] = field(default_factory=dict)
    # the request that is being answered (engine/request.py)
    request: Any = None
    # the relayed request that the general path takes over (engine/relay/relay.py), for its handler
    exchange: Any = None
    _open_sources: set[Any] | None = None
    # sends an interim response with a status, fields and a reason phrase; the protocol sets it
    send_interim: Callable[[int, Iterable[tuple[str, str]], str | None], None] | None = None
    # returns True if the client has sent more than the present request; set for TLS connections of HTTP/1
    has_pipelined: Callable[[], bool] | None = None
    rendering: Any = None  # the head for which a page is being rebuilt (`Request.remade`)
    remade_tick: int | None = None  # the tick in which such a page was last sent (engine/cache/entry.py)
    shape: int = 0  # number of the shape of the client's last head (http/syntax/head_shape.py)
    client_text: bytes = field(init=False)  # client_ip

    def __post_init__(self) -> None:
        self.set_client(self.client_ip)

    def set_client(self, address: str) -> None:
        """Let the client's address be *address*."""
        self.client_text = address.encode("latin-1")
        self.client_ip = address

    @property
    def open_sources(self) -> set[Any]:
        """The sources of the request with a program or a back end behind them, closed if the client goes
        away; an idle connection has no set of them.
        """
        if self._open_sources is None:
            self._open_sources = set()
        return self._open_sources

    @property
    def useragent_port(self) -> int:
        """The port of the client's address: the connection's unless something else named the address."""
        return self.user_port if self.useragent_ip else self.client_port
