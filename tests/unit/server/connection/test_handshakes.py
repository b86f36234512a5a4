"""Handshakes in progress: bound of memory, share of a tick, connections that end at any byte."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite, status

from whimbrel.server.connection.handshakes import MAX_BYTES, OBJECT_BYTES, Handshakes
from whimbrel.server.connection.stack import protocol_factory

SITE = ONE_HOST.replace("@MORE@", "")
SECTION = ONE_HOST.replace(
    "@MORE@", "<Location /in>\nSSLVerifyClient require\nSSLVerifyDepth 2\n</Location>\n"
)


class Entry:
    """A handshake that notes that it was dropped."""

    is_dropped = False

    def drop(self) -> None:
        self.is_dropped = True


def test_the_oldest_are_dropped_above_the_bound() -> None:
    handshakes, entries = Handshakes(), [Entry() for _ in range(2000)]
    for entry in entries:
        handshakes.grow(entry, OBJECT_BYTES)
        assert handshakes.bytes <= MAX_BYTES
    alive = [entry for entry in entries if not entry.is_dropped]
    assert alive == entries[-(MAX_BYTES // OBJECT_BYTES) :]
    for entry in alive:
        handshakes.remove(entry)
    assert (len(handshakes), handshakes.bytes) == (0, 0)


def test_one_handshake_alone_is_never_dropped() -> None:
    handshakes, entry = Handshakes(), Entry()
    handshakes.grow(entry, 2 * MAX_BYTES)
    assert not entry.is_dropped


@pytest.mark.parametrize("conf", [SITE, SECTION])
def test_half_open_handshakes_do_not_stop_other_clients(
    tmp_path: Path, conf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whimbrel.server.connection.handshakes.MAX_BYTES", 20 * OBJECT_BYTES)
    site = TlsServerSite(tmp_path, conf)

    async def run() -> None:
        service, context = site.service(), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        factory, half_open = protocol_factory(service), []
        for _ in range(60):
            client = TlsClient(service, context=context)
            client.protocol = factory()  # one bound for all connections of a worker
            client.protocol.connection_made(client.transport)
            with pytest.raises(ssl.SSLWantReadError):
                client.tls.do_handshake()
            client.send()
            half_open.append(client)
        assert [client.transport.is_closed for client in half_open] == [True] * 41 + [False] * 19
        last = half_open[-1]
        last.pump()
        last.handshake()
        assert status(await last.get()) == 200

    asyncio.run(run())


def test_steps_wait_for_the_next_tick_where_this_one_has_no_time_left(tmp_path: Path) -> None:
    site = TlsServerSite(tmp_path, SITE)

    async def run() -> None:
        service = site.service()
        service.round = 0.0
        client = TlsClient(service)
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.do_handshake()
        client.send()
        assert client.transport.out == b""
        assert client.transport.is_paused
        gone = TlsClient(service)
        with pytest.raises(ssl.SSLWantReadError):
            gone.tls.do_handshake()
        gone.send()
        gone.server.connection_lost(None)
        for _ in range(4):
            await asyncio.sleep(0)
        assert client.transport.out
        assert not client.transport.is_paused
        assert gone.transport.out == b""

    asyncio.run(run())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("conf", [SITE, SECTION])
def test_a_connection_that_ends_at_any_byte(tmp_path: Path, conf: str, version: ssl.TLSVersion) -> None:
    """After each prefix of what a client sends, the end of the stream leaves nothing behind."""
    site = TlsServerSite(tmp_path, conf)

    async def run() -> None:
        service = site.service()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = version
        for cut in (*range(1, 12), *range(12, 1400, 231)):
            for is_reset in (False, True):
                client = TlsClient(service, context=context)
                sent = _send_up_to(client, cut)
                assert sent == cut or sent < cut
                if is_reset:
                    client.server.connection_lost(None)
                else:
                    client.server.eof_received()
                    await asyncio.sleep(0)
                    assert client.transport.is_closed or client.transport.has_eof
                    client.server.connection_lost(None)
                await asyncio.sleep(0)
                assert not service.connections

    asyncio.run(run())


def _send_up_to(client: TlsClient, cut: int) -> int:
    """Send *cut* bytes of a handshake and a request; return the number."""
    sent, is_open = 0, False
    for _ in range(6):
        try:
            if not is_open:
                client.tls.do_handshake()
                is_open = True
                client.tls.write(b"GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        except ssl.SSLWantReadError:
            pass
        data = client._out.read()[: cut - sent]
        if data:
            client.server.data_received(data)
            sent += len(data)
        client.pump()
        if sent >= cut:
            break
    return sent


def test_a_body_without_its_end_is_no_request(tmp_path: Path) -> None:
    """The end of the stream without close_notify in a body: no response of success."""
    site = TlsServerSite(tmp_path, SITE)

    async def run() -> None:
        client = TlsClient(site.service())
        client.handshake()
        client.tls.write(b"POST /f.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n12345")
        client.send()
        client.server.eof_received()
        await asyncio.sleep(0)
        client.pump()
        try:
            assert b" 200 " not in client.tls.read(1000)
        except ssl.SSLWantReadError:
            pass

    asyncio.run(run())


@pytest.mark.parametrize("version", [0x0303, 0x0301])
@pytest.mark.parametrize("kind", [20, 21, 22, 23])
@pytest.mark.parametrize("conf", [SITE, SECTION])
def test_empty_plain_records_end_the_connection(tmp_path: Path, conf: str, kind: int, version: int) -> None:
    site = TlsServerSite(tmp_path, conf)

    async def run() -> None:
        for is_open in (False, True):
            client = TlsClient(site.service())
            if is_open:
                client.handshake()
            record = bytes([kind]) + version.to_bytes(2, "big") + b"\0\0"
            for _ in range(200):
                if client.transport.is_closed:
                    break
                client.server.data_received(record)
            assert client.transport.is_closed

    asyncio.run(run())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_section_without_requirement_after_one_with_it(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """Only the section asks; afterwards all is served on the same connection."""
    site = TlsServerSite(tmp_path, SECTION)

    async def run() -> None:
        client = TlsClient(site.service(), version=version, root=tmp_path, certificate="conf/cl1.pem")
        client.handshake()
        for _ in range(10):
            assert status(await client.get("/f.html")) == 200
            assert status(await client.get("/in/f.html")) in (200, 404)

    asyncio.run(run())


def test_a_client_that_never_reads_the_request_for_a_certificate(tmp_path: Path) -> None:
    site = TlsServerSite(tmp_path, f"Timeout 1\n{SECTION}")

    async def run() -> None:
        service = site.service()
        client = TlsClient(service, version=ssl.TLSVersion.TLSv1_2)
        client.handshake()
        client.tls.write(b"GET /in/f.html HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.send()
        await asyncio.sleep(1.2)
        assert not client.transport.out or b"HTTP" not in client.transport.out
        client.server.connection_lost(None)
        assert not service.connections

    asyncio.run(run())
