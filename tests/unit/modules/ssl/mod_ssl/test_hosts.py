"""Virtual hosts of handshakes, SNI against Host, sessions in all workers, the response cache."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls_clients import TWO_HOSTS, TlsClient, TlsServerSite, status


def site(root: Path, version: str = "2.4", first: str = "", a: str = "", b: str = "") -> TlsServerSite:
    conf = TWO_HOSTS.replace("@a@", a).replace("@b@", b)
    made = TlsServerSite(root, first + conf, version)
    (root / "htdocs" / "in" / "f.html").write_text("inner\n")
    return made


def common_name(client: TlsClient) -> str:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    der = client.tls.getpeercert(True)
    assert der is not None
    name = x509.load_der_x509_certificate(der).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(name[0].value)


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("a.example", "a.example"),
        ("b.example", "b.example"),
        ("B.EXAMPLE", "b.example"),
        ("x.a.example", "a.example"),
        ("unknown.example", "a.example"),
        (None, "a.example"),
    ],
)
def test_the_name_selects_the_certificate(tmp_path: Path, name: str | None, host: str) -> None:
    server = site(tmp_path)

    async def run() -> None:
        client = TlsClient(server.service(), name)
        client.handshake()
        assert common_name(client) == host

    asyncio.run(run())


SAME = "SSLCertificateFile conf/a.crt\nSSLCertificateKeyFile conf/a.key\n"


@pytest.mark.parametrize(
    ("policy", "b", "expected"),
    [  # what 2.4.71 answers to SNI a.example with Host b.example
        ("", "", 421),
        ("SSLVHostSNIPolicy insecure\n", "", 200),
        ("SSLVHostSNIPolicy strict\n", "", 421),
        ("SSLVHostSNIPolicy authonly\n", "", 200),
        ("SSLVHostSNIPolicy authonly\n", "SSLVerifyDepth 3\n", 421),
    ],
)
def test_host_against_sni(tmp_path: Path, policy: str, b: str, expected: int) -> None:
    server = site(tmp_path, first=policy, b=b)

    async def run() -> None:
        client = TlsClient(server.service(), "a.example")
        client.handshake()
        assert status(await client.get(host="a.example")) == 200
        assert status(await client.get(host="b.example")) == expected

    asyncio.run(run())


def test_the_same_url_under_two_names_alternately(tmp_path: Path) -> None:
    """Status 421 depends on SNI although the bytes of the heads are equal."""
    server = site(tmp_path)

    async def run() -> None:
        service = server.service()
        clients = {name: TlsClient(service, name) for name in ("a.example", "b.example")}
        for client in clients.values():
            client.handshake()
        plain = TlsClient(service)
        for number in range(100):
            name = ("a.example", "b.example")[number % 2]
            right, wrong = name, "b.example" if name == "a.example" else "a.example"
            if number % 4 < 2:
                response = await clients[name].get(host=right)
                assert response.endswith(b"page\n" if name == "a.example" else b"inner\n"), number
            else:
                assert status(await clients[name].get(host=wrong)) == 421, number
                clients[name] = TlsClient(service, name)  # 421 closes the connection
                clients[name].handshake()
        assert not plain.transport.out

    asyncio.run(run())


def test_the_cache_serves_names_apart(tmp_path: Path) -> None:
    server = site(tmp_path)
    cache = server.engine.response_cache

    async def run() -> None:
        service = server.service()
        for name in ("a.example", "b.example", "x.a.example", "y.a.example"):
            client = TlsClient(service, name)
            client.handshake()
            for _ in range(3):
                assert status(await client.get(host=name)) == 200
        for number in range(100):
            client = TlsClient(service, f"n{number}.a.example")
            client.handshake()
            assert status(await client.get(host="a.example")) == 200

    asyncio.run(run())
    assert len(cache._unlisted) == 64
    names = {key[2] for key in cache._indexes}
    assert names >= {"a.example", "b.example"}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tickets_resume_in_any_worker(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """The context is made before the fork, so a child process has the keys of its tickets."""
    server = site(tmp_path)

    async def first() -> tuple[ssl.SSLContext, object]:
        client = TlsClient(server.service(), "a.example", version=version)
        client.handshake()
        assert status(await client.get(host="a.example")) == 200
        assert not client.tls.session_reused
        return client.context, client.tls.session

    async def second(context: ssl.SSLContext, session: object) -> bool:
        client = TlsClient(server.service(), "a.example", context=context, session=session)
        client.handshake()
        assert status(await client.get(host="a.example")) == 200
        return bool(client.tls.session_reused)

    import os

    context, session = asyncio.run(first())
    child = os.fork()
    if not child:
        os._exit(0 if asyncio.run(second(context, session)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_protocols_and_ciphers_of_a_server(tmp_path: Path) -> None:
    server = site(tmp_path, b="SSLProtocol -all +TLSv1.2\nSSLCipherSuite ECDHE-RSA-AES128-GCM-SHA256\n")

    async def run() -> None:
        service = server.service()
        client = TlsClient(service, "b.example")
        client.handshake()
        assert client.tls.version() == "TLSv1.2"
        cipher = client.tls.cipher()
        assert cipher is not None and cipher[0] == "ECDHE-RSA-AES128-GCM-SHA256"
        other = TlsClient(service, "a.example")
        other.handshake()
        assert other.tls.version() == "TLSv1.3"

    asyncio.run(run())


@pytest.mark.parametrize(("host", "expected"), [("a.example", 200), ("b.example", 400)])
def test_2_2_compares_names(tmp_path: Path, host: str, expected: int) -> None:
    server = site(tmp_path, "2.2")

    async def run() -> None:
        client = TlsClient(server.service(), "a.example")
        client.handshake()
        assert client.tls.version() == "TLSv1.2"
        assert status(await client.get(host=host)) == expected

    asyncio.run(run())


@pytest.mark.parametrize(
    ("version", "expected"), [("2.4", b"Reason: The client software did not"), ("2.2", b"403")]
)
def test_strict_servers_need_a_name(tmp_path: Path, version: str, expected: bytes) -> None:
    server = site(tmp_path, version, first="SSLStrictSNIVHostCheck on\n")

    async def run() -> None:
        client = TlsClient(server.service(), None)
        client.handshake()
        response = await client.get(host="a.example")
        assert status(response) == 403
        assert expected in response

    asyncio.run(run())


def test_a_client_that_closes_in_its_handshake_is_logged(tmp_path: Path) -> None:
    server = site(tmp_path, first="LogLevel info\n")

    async def run() -> None:
        client = TlsClient(server.service(), root=tmp_path)
        client.server.eof_received()

    asyncio.run(run())
    lines = b"".join(line for lines in server.runtime.logs.values() for line in lines)
    assert b"(70014)End of file found: " in lines
    assert b"AH02006: SSL handshake stopped: connection was closed" in lines
