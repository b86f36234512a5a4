"""SSLOpenSSLConfCmd, ciphers with DHE, ciphers of sections: what a client can negotiate."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite, status

from whimbrel.base.errors import PostConfigError, StartError

SUITES = "ECDHE-RSA-AES256-GCM-SHA384"


def negotiated(site: TlsServerSite, ciphers: str, *, curve: str = "", version: int = 0x0303) -> str:
    """Return the cipher of a client that offers *ciphers* and *version*, "" if the handshake fails."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion(version)
    context.set_ciphers(ciphers)
    if curve:
        context.set_ecdh_curve(curve)

    async def run() -> str:
        client = TlsClient(site.service(), context=context)
        try:
            client.handshake()
        except ssl.SSLError:
            return ""
        cipher = client.tls.cipher()
        return "" if cipher is None else cipher[0]

    return asyncio.run(run())


def with_lines(root: Path, lines: str) -> TlsServerSite:
    return TlsServerSite(root, ONE_HOST.replace("@MORE@", lines))


def test_commands_limit_what_is_negotiated(tmp_path: Path) -> None:
    site = with_lines(
        tmp_path,
        f"SSLOpenSSLConfCmd CipherString {SUITES}\nSSLOpenSSLConfCmd Curves P-384\n"
        "SSLOpenSSLConfCmd Options -SessionTicket,ServerPreference\nSSLOpenSSLConfCmd MaxProtocol TLSv1.2",
    )
    assert negotiated(site, f"{SUITES}:ECDHE-RSA-AES128-GCM-SHA256", version=0x0304) == SUITES
    assert negotiated(site, "ECDHE-RSA-AES128-GCM-SHA256") == ""
    assert negotiated(site, SUITES, curve="prime256v1") == ""


@pytest.mark.parametrize(
    "command",
    ["MinProtocol TLSv1.3", "Protocol -ALL,TLSv1.3", "Protocol -TLSv1.2", "SignatureAlgorithms ECDSA+SHA256"],
)
def test_commands_refuse_clients(tmp_path: Path, command: str) -> None:
    assert negotiated(with_lines(tmp_path, f"SSLOpenSSLConfCmd {command}"), "ALL") == ""


@pytest.mark.parametrize(
    "command", ["Curves nothing", "Options nothing", "MinProtocol TLSv9", "CipherString no"]
)
def test_values_that_the_library_refuses(tmp_path: Path, command: str) -> None:
    with pytest.raises(PostConfigError) as caught:
        with_lines(tmp_path, f"SSLOpenSSLConfCmd {command}")
    assert f'AH02407: "SSLOpenSSLConfCmd {command}" failed for localhost:443' in str(caught.value)


def test_a_command_without_function_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="SSLOpenSSLConfCmd NumTickets: the library has no function"):
        with_lines(tmp_path, "SSLOpenSSLConfCmd NumTickets 1")


@pytest.mark.parametrize("more", ["", "SSLVerifyClient optional"])
def test_ciphers_with_dhe(tmp_path: Path, more: str) -> None:
    assert negotiated(with_lines(tmp_path, more), "DHE-RSA-AES256-GCM-SHA384") == "DHE-RSA-AES256-GCM-SHA384"


SECTION = f"""SSLCipherSuite ECDHE-RSA-AES128-GCM-SHA256:{SUITES}
<Location /in>
SSLCipherSuite ECDHE-RSA-AES128-GCM-SHA256
</Location>"""


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_section_changes_the_cipher(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """TLS 1.2 by renegotiation; the suites of TLS 1.3 are not those of a section, as in httpd."""
    site = with_lines(tmp_path, SECTION)

    async def run() -> list[str]:
        client = TlsClient(site.service(), version=version)
        client.handshake()
        found = []
        for path in ("/f.html", "/in", "/f.html"):
            assert status(await client.get(path)) in (200, 301, 404)
            found.append(client.tls.cipher()[0])  # type: ignore[index]
        return found

    ciphers = asyncio.run(run())
    if version is ssl.TLSVersion.TLSv1_2:
        assert ciphers == [SUITES, "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"]
    else:
        assert len(set(ciphers)) == 1


def test_a_client_without_the_cipher_of_a_section_gets_nothing(tmp_path: Path) -> None:
    site = with_lines(tmp_path, SECTION)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(SUITES)

    async def run() -> None:
        client = TlsClient(site.service(), context=context)
        client.handshake()
        with pytest.raises(ssl.SSLError, match="(?i)alert"):
            await client.get("/in")
        assert client.transport.is_closed

    asyncio.run(run())
