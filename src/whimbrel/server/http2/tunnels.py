"""Streams that become tunnels: the head of the response, the check of WebSocket's answer, the transport.

RFC 8441; httpd: h2_ws.c.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.engine.abandon import close_sources
from whimbrel.engine.connection import Takeover
from whimbrel.engine.response import Response
from whimbrel.http.http2.protocol import HeadTooLong
from whimbrel.http.http2.websocket import ACCEPT, accept_value, tunnel_fields
from whimbrel.server.http2.stream import Stream
from whimbrel.server.http2.stream_transport import StreamTransport

if TYPE_CHECKING:
    from whimbrel.server.http2.sender import Sender


def begin_tunnel(sender: Sender, stream: Stream, response: Response, takeover: Takeover) -> None:
    """Send the head of a tunnel and hand *stream* to the protocol of *takeover*; 502 if the answer of a
    WebSocket server lacks the proof that it has read the key.
    """
    session = sender.session
    r = response.request
    if stream.key and not _is_proven(stream, response):
        _refuse(sender, stream, response)
        return
    try:
        block = sender.wire.encoder.encode(tunnel_fields(r.headers_out))
    except HeadTooLong:
        _refuse(sender, stream, response)
        return
    sender.wire.send_head(stream, block, end=False)

    def ended(_sent: int, received: int) -> None:
        r.body_in.framing += received
        sender.finish(stream, response, stream.sent)
        session.flush()

    def lost() -> None:
        stream.tunnel = None

    stream.task = None
    transport = StreamTransport(session, sender, stream, lost=lost)
    stream.tunnel = transport
    protocol = takeover(transport, ended)
    transport.set_protocol(protocol)
    transport.receive(b"", ended=stream.ended)
    session.flush()


def has_refused(sender: Sender, stream: Stream, response: Response) -> bool:
    """Refuse a successful response to a request for WebSocket: the resource speaks HTTP alone."""
    if not 200 <= response.request.status < 300:
        return False
    _refuse(sender, stream, response)
    return True


def _is_proven(stream: Stream, response: Response) -> bool:
    r = response.request
    value = r.headers_out.get(ACCEPT)
    expected = accept_value(stream.key)
    if value == expected:
        return True
    name = f"h2_c2({stream.connection.notes['http2-tag']})"
    if value is None:
        text = f"{name}: websocket CONNECT, got 101 response without Sec-WebSocket-Accept header"
        r.log("warn", text, code="AH10462", module="http2")
    else:
        text = f"{name}: websocket CONNECT, 101 response without '{ACCEPT}: {value}' but expected {expected}"
        r.log("error", text, code="AH10463", module="http2")
    return False


def _refuse(sender: Sender, stream: Stream, response: Response) -> None:
    """Respond with an empty 502; the log has the status and the size of *response*."""
    response.request.set_uncacheable()
    stream.connection.aborted = True
    block = sender.wire.encoder.encode([(b":status", b"502"), (b"content-length", b"0")])
    sender.wire.send_head(stream, block, end=True)
    stream.task = sender.session.service.loop.create_task(_close(sender, stream, response))


async def _close(sender: Sender, stream: Stream, response: Response) -> None:
    count = sum([len(part) for part in response.parts if isinstance(part, bytes)])
    await close_sources(stream.connection)
    sender.finish(stream, response, count)
    sender.session.flush()
