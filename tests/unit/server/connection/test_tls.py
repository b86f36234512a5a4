"""The layer of TLS: handshakes in pieces, plain HTTP, alerts, the end of connections, large bodies."""

from __future__ import annotations

import asyncio
import gc
import ssl
import weakref
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import cast

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.soak.probe import _heap
from tests.support.tls_clients import ADDRESS, ONE_HOST, TlsClient, TlsServerSite, status

from whimbrel.config.model import Server
from whimbrel.engine.engine import Engine
from whimbrel.modules.ssl.mod_ssl.sessions import StandardSession
from whimbrel.server.connection.tls import TlsLayer
from whimbrel.server.http2.connection import Http2Connection

SITE = ONE_HOST.replace("@MORE@", "")


@pytest.fixture
def site(tmp_path: Path) -> TlsServerSite:
    return TlsServerSite(tmp_path, SITE)


def layer(client: TlsClient) -> TlsLayer:
    found = client.protocol
    assert isinstance(found, TlsLayer)
    return found


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_handshakes_in_single_bytes(site: TlsServerSite, version: ssl.TLSVersion) -> None:
    async def bytewise() -> None:
        client = TlsClient(site.service(), version=version)
        for _ in range(6):
            try:
                client.tls.do_handshake()
            except ssl.SSLWantReadError:
                pass
            for byte in client._out.read():
                client.server.data_received(bytes([byte]))
            client.pump()
        response = await client.get()
        assert status(response) == 200
        assert response.endswith(b"page\n")

    asyncio.run(bytewise())


def test_a_connection_of_another_address_stays_plain(site: TlsServerSite) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        client.transport._extra["sockname"] = ("127.0.0.1", 8080)  # type: ignore[attr-defined]
        client.protocol.connection_made(client.transport)
        client.server.data_received(b"GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.transport.out.startswith(b"HTTP/1.1 200 ")
        assert client.transport.protocol is not client.protocol

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "is_answered"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", True),
        (b"POST / HTTP/1.1\r\n", True),
        (b"HEAD / HTTP/1.0\r\n", True),
        (b"PUT /x HTTP/1.0\r\n", True),
        (b"junk\r\n\r\n", False),
        (b"DELETE / HTTP/1.1\r\n", False),
        (b"CONNECT x:1 HTTP/1.1\r\n", False),
        (b"\x16\x09\x01\x00\x05hello", False),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x01\x00", False),
    ],
)
@pytest.mark.parametrize("step", [1, 1000])
def test_first_bytes_that_are_not_tls(site: TlsServerSite, data: bytes, is_answered: bool, step: int) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        for at in range(0, len(data), step):
            client.server.data_received(data[at : at + step])
        out = client.transport.out
        if is_answered:
            assert out.startswith(b"HTTP/1.1 400 Bad Request\r\n")
            assert b"Reason: You're speaking plain HTTP to an SSL-enabled server port.<br />" in out
            assert client.transport.has_eof or client.transport.is_closed
        else:
            assert b"HTTP/" not in out
            assert client.transport.is_closed

    asyncio.run(run())


def test_the_protocol_above_sees_no_socket(site: TlsServerSite) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        client.transport._extra["socket"] = object()  # type: ignore[attr-defined]
        client.handshake()
        assert layer(client).get_extra_info("socket") is None

    asyncio.run(run())


def test_large_files_pass_in_steps(site: TlsServerSite, tmp_path: Path) -> None:
    content = bytes(range(256)) * 12_000
    (tmp_path / "htdocs" / "large.bin").write_bytes(content)

    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        response = await client.fetch("GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", 500)
        assert response.partition(b"\r\n\r\n")[2] == content

    asyncio.run(run())


def test_close_notify_ends_the_stream(site: TlsServerSite) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        response = await client.fetch("GET /f.html HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert status(response) == 200
        client.pump()
        assert client.tls.read(100) == b""  # without close_notify: SSLWantReadError
        assert client.transport.has_eof

    asyncio.run(run())


def test_a_record_that_is_not_authentic_closes(site: TlsServerSite) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        client.tls.write(b"GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        data = bytearray(client._out.read())
        data[-1] ^= 1
        client.server.data_received(bytes(data))
        assert client.transport.is_closed
        client.pump()
        with pytest.raises(ssl.SSLError, match="(?i)alert|mac"):
            client.tls.read(100)

    asyncio.run(run())


def test_a_cached_response_is_sent_before_the_alert(site: TlsServerSite) -> None:
    request = b"GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        for _ in range(3):  # the next response comes from the cache
            assert status(await client.fetch(request.decode())) == 200
        assert site.engine.response_cache.index(*ADDRESS, layer(client).connection.tls).by_key
        client.tls.write(request)
        good = client._out.read()
        client.tls.write(request)
        bad = bytearray(client._out.read())
        bad[-1] ^= 1
        client.server.data_received(good + bytes(bad))
        client.pump()
        assert status(client.tls.read(1000)) == 200
        with pytest.raises(ssl.SSLError, match="(?i)alert|mac"):
            client.tls.read(100)

    site.settle()
    asyncio.run(run())


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x17\x03\x03\xff\xff" + b"x" * 70000])
def test_plain_bytes_and_too_long_records_close(site: TlsServerSite, data: bytes) -> None:
    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        client.server.data_received(data)
        assert client.transport.is_closed

    asyncio.run(run())


def test_the_end_of_the_stream_in_a_handshake(site: TlsServerSite) -> None:
    async def run() -> None:
        service = site.service()
        client = TlsClient(service)
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.do_handshake()
        client.server.data_received(client._out.read()[:100])
        assert len(service.connections) == 1
        client.server.eof_received()
        assert client.transport.is_closed
        assert not service.connections

    asyncio.run(run())


def test_a_handshake_has_a_deadline_and_bounded_memory(site: TlsServerSite) -> None:
    async def run() -> None:
        service = site.service()
        client = TlsClient(service)
        (handshake,) = service.connections
        assert handshake.deadline == pytest.approx(service.clock + 60, abs=1)
        record = b"\x16\x03\x01\x40\x00" + b"\x01\x00\xff\xff" + b"\0" * 16380
        sent = 0
        while not client.transport.is_closed:
            client.server.data_received(record)
            record = b"\x16\x03\x01\x40\x00" + b"\0" * 16384
            sent += len(record)
            assert sent < 512 * 1024
        handshake.expire()

    asyncio.run(run())


def test_a_client_may_not_renegotiate(site: TlsServerSite) -> None:
    """A HelloRequest-less ClientHello in an encrypted record: the server answers with an alert, or closes."""
    from OpenSSL import SSL

    async def run() -> None:
        client = TlsClient(site.service())
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        connection = SSL.Connection(context, None)
        connection.set_connect_state()

        def step() -> None:
            try:
                connection.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                client.server.data_received(connection.bio_read(65536))
            except SSL.WantReadError:
                pass
            if client.transport.out:
                connection.bio_write(client.transport.out)
                client.transport.out = b""

        for _ in range(4):
            step()
        assert connection.total_renegotiations() == 0
        connection.renegotiate()
        with pytest.raises(SSL.Error):
            for _ in range(4):
                step()
            connection.recv(100)

    asyncio.run(run())


def test_alpn_hands_over_to_http2(tmp_path: Path) -> None:
    site = TlsServerSite(tmp_path, "Protocols h2 http/1.1\n" + SITE, more="http2")

    async def run() -> None:
        service = site.service()
        client = TlsClient(service, alpn=["h2", "http/1.1"])
        client.handshake()
        assert client.tls.selected_alpn_protocol() == "h2"
        assert isinstance(layer(client).get_protocol(), Http2Connection)
        other = TlsClient(service, alpn=["http/1.1"])
        other.handshake()
        assert other.tls.selected_alpn_protocol() == "http/1.1"
        assert status(await other.get()) == 200

    asyncio.run(run())


def test_a_write_without_memory_ends_the_connection(
    site: TlsServerSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes are missing, for which the client would wait."""

    def fail(_layer: TlsLayer, _data: bytes) -> None:
        raise MemoryError

    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        assert not client.transport.is_closed
        monkeypatch.setattr(TlsLayer, "_encrypt", fail)
        with pytest.raises(MemoryError):
            layer(client).write(b"x")
        assert client.transport.is_closed

    asyncio.run(run())


NAMES = ("version", "cipher", "used_bits", "session_id", "is_resumed", "resumed_name", "compression")


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_connection_that_has_ended_keeps_the_values_of_its_session_alone(
    site: TlsServerSite, version: ssl.TLSVersion
) -> None:
    """Cached responses keep the connection that they were built for; the library's object has 40 kB."""

    async def run() -> None:
        client = TlsClient(site.service(), version=version)
        client.handshake()
        assert status(await client.get()) == 200
        connection = layer(client).connection
        session = connection.tls
        assert session is not None
        held = weakref.ref(session._tls)  # type: ignore[attr-defined]
        before = [getattr(session, name) for name in NAMES]
        assert before[0] == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}[version.name]
        client.protocol.connection_lost(None)
        gc.collect()
        assert held() is None
        assert [getattr(session, name) for name in NAMES] == before

    asyncio.run(run())


def test_a_connection_that_has_ended_has_no_objects_of_the_library(site: TlsServerSite) -> None:
    """The session has 1 kB, and the buffers what was in them at most; neither is in a size of Python's."""

    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        assert status(await client.get()) == 200
        tls = layer(client)
        client.protocol.connection_lost(None)
        held: list[object] = [tls.connection.tls]
        found: set[int] = set()
        not_kept = type | ModuleType | FunctionType | Engine | Server
        while held:  # what a cached response keeps
            one = held.pop()
            assert not isinstance(one, ssl.SSLSession | ssl.SSLObject | ssl.MemoryBIO)
            if id(one) not in found and not isinstance(one, not_kept):
                found.add(id(one))
                held += gc.get_referents(one)
        assert len(found) > 5
        buffers = [one for one in gc.get_referents(tls) if isinstance(one, ssl.MemoryBIO)]
        assert buffers and not any(one.pending for one in buffers)
        other = TlsClient(site.service())
        other.handshake()
        other.protocol.connection_lost(None)
        others = [one for one in gc.get_referents(layer(other)) if isinstance(one, ssl.MemoryBIO)]
        assert {id(one) for one in others} == {id(one) for one in buffers}  # that of all closed connections

    asyncio.run(run())


def test_connections_leave_nothing_in_the_heap_of_the_library(site: TlsServerSite) -> None:
    """CPython's issue 116810: each look of Python at a session leaves a copy of a kilobyte behind."""

    async def use(count: int) -> int:
        for _ in range(count):
            client = TlsClient(site.service())
            client.handshake()
            assert status(await client.get()) == 200
            client.protocol.connection_lost(None)
            client.tls = None  # type: ignore[assignment]
        del client
        gc.collect()
        return _heap()[0]

    async def run() -> None:
        await use(50)
        before = await use(50)
        if not before:
            pytest.skip("the C library does not tell the size of its heap")
        assert await use(150) - before < 150 * 500

    asyncio.run(run())


@pytest.mark.parametrize(("is_answering", "reads"), [(False, 0), (True, 1)])
def test_a_session_is_looked_at_once_and_only_for_its_id(is_answering: bool, reads: int) -> None:
    tls = LookedAt()
    session = StandardSession(tls, cast(Server, None), "", True, [])
    session.end(is_answering=is_answering)
    assert tls.looks == reads
    assert session.session_id == ("00ff" if is_answering else "")
    tls = LookedAt()
    session = StandardSession(tls, cast(Server, None), "", True, [])
    assert session.session_id == session.session_id == "00ff"
    session.end(is_answering=is_answering)
    assert session.session_id == "00ff" and tls.looks == 1


class LookedAt:
    """An object of the library that counts the looks at its session."""

    looks = 0
    session_reused = False

    @property
    def session(self) -> SimpleNamespace:
        self.looks += 1
        return SimpleNamespace(id=b"\x00\xff")

    def version(self) -> str:
        return "TLSv1.3"

    def cipher(self) -> None:
        return None

    def compression(self) -> None:
        return None
