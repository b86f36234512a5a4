"""Certificates of clients: of servers, and of sections that ask on an established connection."""

from __future__ import annotations

import asyncio
import gc
import ssl
import weakref
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls_clients import ADDRESS, ONE_HOST, TlsClient, TlsServerSite, status

from whimbrel.modules.ssl.mod_ssl.openssl import RenegotiationFailed

V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
SECTION = "<Location /in>\nSSLVerifyClient {}\n{}\n</Location>\n"
BOTH = pytest.mark.parametrize("version", [V2, V3], ids=["1.2", "1.3"])


def site(root: Path, more: str) -> TlsServerSite:
    return TlsServerSite(root, ONE_HOST.replace("@MORE@", more))


@BOTH
@pytest.mark.parametrize(
    ("mode", "certificate", "is_accepted", "code"),
    [
        ("require", "", False, ""),
        ("require", "conf/cl1.pem", True, ""),
        ("require", "conf/clexp.pem", False, "AH02039"),
        ("require", "conf/clself.pem", False, "AH02039"),
        ("require", "conf/clsub.pem", False, "AH02040"),
        ("optional", "", True, ""),
        ("optional", "conf/clself.pem", False, "AH02039"),
        ("optional_no_ca", "conf/clself.pem", True, ""),
    ],
)
def test_certificates_of_a_server(
    tmp_path: Path, version: ssl.TLSVersion, mode: str, certificate: str, is_accepted: bool, code: str
) -> None:
    server = site(tmp_path, f"SSLVerifyClient {mode}")

    async def run() -> bytes:
        client = TlsClient(server.service(), root=tmp_path, certificate=certificate, version=version)
        try:
            client.handshake()
            return await client.get()
        except ssl.SSLError:
            return b""

    assert bool(asyncio.run(run())) is is_accepted
    lines = b"".join(line for lines in server.runtime.logs.values() for line in lines)
    assert (code.encode() in lines) if code else (b"AH020" not in lines)


@BOTH
def test_a_request_in_the_segment_that_ends_the_handshake(tmp_path: Path, version: ssl.TLSVersion) -> None:
    server = site(tmp_path, "SSLVerifyClient optional")

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, version=version)
        for _ in range(2):
            with pytest.raises(ssl.SSLWantReadError):
                client.tls.do_handshake()
            if version is V3:
                break
            client.send()
            client.pump()
        client.send()
        client.pump()
        client.tls.do_handshake()
        assert status(await client.get()) == 200

    asyncio.run(run())


@BOTH
def test_a_section_asks_for_a_certificate(tmp_path: Path, version: ssl.TLSVersion) -> None:
    server = site(tmp_path, SECTION.format("require", ""))

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate="conf/cl1.pem", version=version)
        client.handshake()
        assert status(await client.get("/f.html")) == 200
        assert (await client.get("/in/f.html")).endswith(b"inner\n")
        assert status(await client.get("/f.html")) == 200  # a place without the requirement still works
        assert (await client.get("/in/f.html")).endswith(b"inner\n")

    asyncio.run(run())


@BOTH
def test_a_section_refuses_clients_without_one(tmp_path: Path, version: ssl.TLSVersion) -> None:
    server = site(tmp_path, SECTION.format("require", ""))

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, version=version)
        client.handshake()
        assert status(await client.get("/f.html")) == 200
        with pytest.raises(ssl.SSLError):
            await client.get("/in/f.html")
            client.tls.read(1)
        assert client.transport.is_closed

    asyncio.run(run())
    lines = b"".join(line for lines in server.runtime.logs.values() for line in lines)
    if version is V3:
        assert b"AH02263: Re-negotiation handshake failed: Client certificate missing" in lines
    else:
        assert b"AH02261: Re-negotiation handshake failed" in lines
        assert b"error:0A0000C7:SSL routines::peer did not return a certificate -- No CAs known" in lines


@BOTH
def test_a_refused_client_gets_the_error_document(tmp_path: Path, version: ssl.TLSVersion) -> None:
    section = SECTION.format("require", "ErrorDocument 403 /f.html")
    server = site(tmp_path, f"SSLOptions +StdEnvVars\n{section}")

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, version=version)
        client.handshake()
        with pytest.raises(ssl.SSLError):
            await client.get("/in/f.html")
            client.tls.read(1)

    asyncio.run(run())
    assert b"Traceback" not in b"".join(line for lines in server.runtime.logs.values() for line in lines)


def test_a_client_of_tls_1_3_that_cannot_authenticate_later(tmp_path: Path) -> None:
    server = site(tmp_path, SECTION.format("require", ""))

    async def run() -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        client = TlsClient(server.service(), context=context)
        client.handshake()
        for _ in range(3):
            response = await client.get("/in/f.html")
            assert status(response) == 403
            assert b"Cannot perform Post-Handshake Authentication.<br /></p>" in response
            assert status(await client.get("/f.html")) == 200

    asyncio.run(run())


def test_a_renegotiation_drops_pipelined_requests(tmp_path: Path) -> None:
    """Bytes behind the request may be another client's (CVE-2009-3555)."""
    server = site(tmp_path, SECTION.format("require", ""))

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate="conf/cl1.pem", version=V2)
        client.handshake()
        requests = "".join(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n" for path in ("/in/f.html", "/f.html"))
        response = await client.fetch(requests)
        assert (status(response), response.count(b"HTTP/1.1")) == (200, 1)
        assert b"\r\nConnection: close\r\n" in response

    asyncio.run(run())


@BOTH
def test_a_cached_response_precedes_the_handshake(tmp_path: Path, version: ssl.TLSVersion) -> None:
    server = site(tmp_path, SECTION.format("require", ""))
    requests = [f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n" for path in ("/f.html", "/in/f.html")]

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate="conf/cl1.pem", version=version)
        client.handshake()
        for _ in range(3):
            assert status(await client.fetch(requests[0])) == 200
        client.tls.write("".join(requests).encode())
        client.send()
        client.pump()
        assert client.tls.read(1000).endswith(b"page\n")
        with pytest.raises(ssl.SSLWantReadError):
            client.tls.read(1000)
        assert server.engine.response_cache.index(*ADDRESS, client.protocol.connection.tls).by_key

    server.settle()
    asyncio.run(run())


@BOTH
@pytest.mark.parametrize(("size", "expected"), [(3, 200), (100, 200), (101, 413)])
def test_bodies_are_kept_up_to_a_bound(
    tmp_path: Path, version: ssl.TLSVersion, size: int, expected: int
) -> None:
    server = site(tmp_path, SECTION.format("require", "SSLRenegBufferSize 100"))

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate="conf/cl1.pem", version=version)
        client.handshake()
        head = f"POST /in/f.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
        assert status(await client.fetch(head + "x" * size)) == expected

    asyncio.run(run())


@BOTH
@pytest.mark.parametrize("issuer", ["conf/clself.pem", "conf/cl1.pem"], ids=["unknown", "known"])
def test_a_resumed_session_does_not_verify_a_certificate(
    tmp_path: Path, version: ssl.TLSVersion, issuer: str
) -> None:
    """A certificate whose issuer is unknown does not enter by resuming the session."""
    verified = "<Location /in>\nRequire ssl-verify-client\n</Location>\n"
    server = site(tmp_path, f"SSLVerifyClient optional_no_ca\n{verified}")

    async def run() -> list[int]:
        client = TlsClient(server.service(), root=tmp_path, certificate=issuer, version=version)
        client.handshake()
        first = status(await client.get("/in/a.txt"))
        again = TlsClient(server.service(), context=client.context, session=client.tls.session)
        again.handshake()
        assert again.tls.session_reused
        return [first, status(await again.get("/in/a.txt"))]

    # there is no document: 404 for whom may enter
    assert asyncio.run(run()) == ([404, 404] if issuer == "conf/cl1.pem" else [403, 403])


def test_a_session_with_an_unknown_issuer_does_not_begin_a_stricter_connection(tmp_path: Path) -> None:
    """The certificate that a section of optional_no_ca has accepted ends the handshake that resumes the
    session with a server of another mode, as in apache2.
    """
    server = site(tmp_path, "LogLevel info\n" + SECTION.format("optional_no_ca", ""))

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate="conf/clself.pem", version=V3)
        client.handshake()
        for _ in range(2):  # the tickets come after the handshake of the first request
            assert status(await client.get("/in/a.txt")) == 404
        again = TlsClient(server.service(), context=client.context, session=client.tls.session)
        again.handshake()
        assert again.tls.session_reused
        assert await again.get("/in/a.txt") == b""

    asyncio.run(run())
    lines = b"".join(line for lines in server.runtime.logs.values() for line in lines)
    assert b"AH02010" in lines


HTTP_1_1_REQUIRED = 13
"""RFC 9113, 7: the request is to be sent over HTTP/1.1."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"


def request_frame(stream: int, path: str) -> bytes:
    """Return a HEADERS frame of a GET: fields of HPACK's static table, the path and the authority as text."""
    block = b"\x82\x87\x04" + bytes([len(path)]) + path.encode() + b"\x01\x09localhost"
    return len(block).to_bytes(3, "big") + b"\x01\x05" + stream.to_bytes(4, "big") + block


def frames(data: bytes) -> list[tuple[int, int, bytes]]:
    """Return kind, stream and payload of each frame."""
    found = []
    while data:
        end = 9 + int.from_bytes(data[:3], "big")
        found.append((data[3], int.from_bytes(data[5:9], "big"), data[9:end]))
        data = data[end:]
    return found


@pytest.mark.parametrize(
    ("section", "is_refused"),
    [
        ("SSLVerifyClient require", True),
        ("SSLVerifyClient optional", True),
        ("SSLCipherSuite AES128-SHA256", True),
        ("Header set X-A 1", False),
    ],
)
def test_http2_knows_no_renegotiation(tmp_path: Path, section: str, is_refused: bool) -> None:
    """RFC 9113, 9.2.1 forbids it: httpd resets the stream, and the connection goes on."""
    conf = "Protocols h2 http/1.1\n<Location /in>\n" + section + "\n</Location>"
    server = TlsServerSite(tmp_path, ONE_HOST.replace("@MORE@", conf), more="http2")

    async def run() -> list[tuple[int, int, bytes]]:
        client = TlsClient(server.service(), root=tmp_path, version=V2, alpn=["h2"])
        client.handshake()
        assert client.tls.selected_alpn_protocol() == "h2"
        client.tls.write(PREFACE + request_frame(1, "/in/f.html") + request_frame(3, "/f.html"))
        client.send()
        found: list[tuple[int, int, bytes]] = []
        data = b""
        for _ in range(200):
            await asyncio.sleep(0.01)
            client.pump()
            try:
                data += client.tls.read(65536)
            except ssl.SSLWantReadError:
                continue
            found = frames(data)
            if any(stream == 3 for _kind, stream, _payload in found):
                break
        return found

    found = asyncio.run(run())
    resets = [(stream, int.from_bytes(payload, "big")) for kind, stream, payload in found if kind == 3]
    assert resets == ([(1, HTTP_1_1_REQUIRED)] if is_refused else [])
    assert any(kind == 1 and stream == 3 for kind, stream, _payload in found)


VALUES = (
    "version cipher used_bits session_id is_resumed resumed_name compression certificate peer_certificate "
    "peer_chain verify_error is_unverified verification"
).split()


@BOTH
@pytest.mark.parametrize("certificate", ["", "conf/cl1.pem"])
def test_an_ended_connection_keeps_the_values_of_its_session_alone(
    tmp_path: Path, version: ssl.TLSVersion, certificate: str
) -> None:
    """Cached responses keep the connection that they were built for; the library's object has 40 kB."""
    server = site(tmp_path, "SSLVerifyClient optional")
    server.settle()

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path, certificate=certificate, version=version)
        client.handshake()
        assert status(await client.get()) == 200
        tls_layer = client.protocol
        session = tls_layer.connection.tls
        held = weakref.ref(session._tls)
        before = [getattr(session, name) for name in VALUES]
        assert (session.peer_certificate is not None) is bool(certificate)
        tls_layer.connection_lost(None)
        gc.collect()
        assert held() is None
        assert session._flush() is None and getattr(session._flush, "__self__", None) is None
        assert [getattr(session, name) for name in VALUES] == before
        with pytest.raises(RenegotiationFailed):
            session.demand_certificate(session.verification)
        session.distrust()
        assert session.is_unverified

    asyncio.run(run())
    levels = [server.engine.response_cache.by_key, server.engine.response_cache.by_bytes]
    assert sum(map(len, levels)) > 0  # the response is cached, with its connection
