"""Requests to a host that asks for certificates, on connections whose handshake was with another host."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest
from tests.support.tls_clients import TlsClient, TlsServerSite, status

from whimbrel.modules.ssl.mod_ssl.compatibility import demands_more, differs_in_trust
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig
from whimbrel.registry.settings import with_defaults

V2, V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
HOST = (
    "<VirtualHost 127.0.0.1:8443>\nServerName {}\nSSLEngine on\nSSLCertificateFile conf/lo.crt\n"
    'SSLCertificateKeyFile conf/lo.key\nDocumentRoot "@DOCROOT@"\n{}</VirtualHost>\n'
)
CA, REQUIRE = "SSLCACertificateFile conf/ca.crt\n", "SSLVerifyClient require\n"
INSECURE = "SSLVHostSNIPolicy insecure\n"


def two_hosts(root: Path, first: str, second: str, version: str, main: str = "") -> TlsServerSite:
    conf = main + HOST.format("open.test", first) + HOST.format("admin.test", second)
    return TlsServerSite(root, conf, version)


def statuses(
    site: TlsServerSite,
    hosts: list[str],
    version: ssl.TLSVersion,
    certificate: str,
    name: str | None = None,
    path: str = "/f.html",
) -> list[int]:
    """Return the status of each response on one connection, 0 for an alert."""

    async def run() -> list[int]:
        client = TlsClient(site.service(), name, root=site.root, certificate=certificate, version=version)
        client.handshake()
        found = []
        for host in hosts:
            try:
                found.append(status(await client.get(path, host)))
            except ssl.SSLError:
                found.append(0)
        return found

    return asyncio.run(run())


@pytest.mark.parametrize("version", [V2, V3], ids=["1.2", "1.3"])
@pytest.mark.parametrize(
    ("first", "certificate", "may_enter"),
    [
        (CA, "", False),
        (CA, "conf/cl1.pem", True),
        (CA, "conf/clself.pem", False),
        ("SSLVerifyClient optional\n" + CA, "", False),
        ("", "conf/cl1.pem", False),  # AH02256: the list of authorities is another one
        ("SSLCACertificateFile conf/oca.crt\n", "conf/cl1.pem", False),
    ],
)
def test_a_host_requires_certificates_of_clients_without_server_name(
    tmp_path: Path, version: ssl.TLSVersion, first: str, certificate: str, may_enter: bool
) -> None:
    """The first host wins the handshake; with 2.4 under the policy that lets all requests through."""
    if version is V3 and first.startswith("SSLVerifyClient"):
        may_enter = False  # demanded once already
    site = two_hosts(tmp_path, first, CA + REQUIRE, "2.4", INSECURE)
    found = statuses(site, ["open.test", "admin.test"], version, certificate)
    assert found[0] == 200
    assert (found[1] == 200) is may_enter


@pytest.mark.parametrize(("certificate", "code"), [("", 0), ("conf/cl1.pem", 200)])
def test_2_2_asks_for_the_certificate_of_the_second_host(tmp_path: Path, certificate: str, code: int) -> None:
    site = two_hosts(tmp_path, CA, CA + REQUIRE, "2.2")
    assert statuses(site, ["open.test", "admin.test"], V2, certificate) in ([200, code], [200, 403 - code])


def test_2_2_refuses_where_the_authorities_are_those_of_another_host(tmp_path: Path) -> None:
    site = two_hosts(tmp_path, "", CA + REQUIRE, "2.2")
    assert statuses(site, ["open.test", "admin.test", "open.test"], V2, "conf/cl1.pem") == [200, 403, 200]
    lines = b"".join(line for lines in site.runtime.logs.values() for line in lines)
    assert b"Traceback" not in lines


def test_421_ends_the_connection_although_its_fields_do_not_say_so(tmp_path: Path) -> None:
    """httpd reads no further request from a connection whose post_read_request hook has refused one."""
    site = two_hosts(tmp_path, CA, CA + REQUIRE, "2.4")

    async def run() -> tuple[bytes, bytes]:
        client = TlsClient(site.service(), None, root=tmp_path)
        client.handshake()
        response = await client.get("/f.html", "admin.test")
        return response, await client.get("/f.html", "open.test")

    response, further = asyncio.run(run())
    assert status(response) == 421
    assert b"Connection: close" not in response
    assert further == b""


def test_a_handshake_that_cannot_begin_leaves_what_is_known_of_the_certificate(tmp_path: Path) -> None:
    """A certificate of an unknown issuer stays one, although a section of the host has required another."""
    rule = "<Location />\nSSLRequire %{SSL_CLIENT_VERIFY} eq 'SUCCESS'\n</Location>\n"
    lenient = f"{CA}SSLVerifyClient optional_no_ca\n{rule}"
    section = "<Location />\nSSLVerifyClient require\n</Location>\n"
    site = two_hosts(tmp_path, lenient, CA + section, "2.4", INSECURE)
    hosts = ["open.test", "admin.test", "open.test"]
    assert statuses(site, hosts, V3, "conf/clself.pem") == [403, 403, 403]


@pytest.mark.parametrize("version", [V2, V3], ids=["1.2", "1.3"])
@pytest.mark.parametrize("certificate", ["conf/cl1.pem", "conf/clself.pem", "conf/clsub.pem"])
def test_a_section_with_none_in_a_host_of_optional_no_ca_takes_any_certificate(
    tmp_path: Path, version: ssl.TLSVersion, certificate: str
) -> None:
    """Also a chain that is too long, as apache2 does; it does not count as verified."""
    section = "<Location />\nSSLVerifyClient none\n</Location>\n"
    rule = "<Location /a.html>\nRequire ssl-verify-client\n</Location>\n"
    site = two_hosts(tmp_path, CA, f"{CA}SSLVerifyClient optional_no_ca\n{section}{rule}", "2.4", INSECURE)
    hosts = ["open.test", "admin.test"]
    assert statuses(site, hosts, version, certificate) == [200, 200]
    may_enter = certificate != "conf/clself.pem"
    assert (statuses(site, hosts, version, certificate, path="/a.html")[1] == 403) is not may_enter


def settings(**values: object) -> SslServerConfig:
    return with_defaults(SslServerConfig(**values))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("handshake", "request_", "expected"),
    [
        ({}, {}, False),
        ({}, {"verify": "require"}, True),
        ({"verify": "require"}, {"verify": "optional"}, False),
        ({"verify": "require", "depth": 3}, {"verify": "require", "depth": 1}, True),
        ({"depth": 3}, {"depth": 1}, False),
        ({"verify": "require", "ca_file": "a"}, {"verify": "require", "ca_file": "b"}, True),
        ({"verify": "require", "ca_file": "a"}, {"verify": "require"}, False),
        ({}, {"ciphers": "HIGH"}, True),
        ({"ciphers": "HIGH"}, {"ciphers": "HIGH"}, False),
        ({"verify": "require"}, {"verify": "require", "crl_file": "c"}, True),
    ],
)
def test_what_a_server_demands_more(
    handshake: dict[str, object], request_: dict[str, object], expected: bool
) -> None:
    assert demands_more(settings(**handshake), settings(**request_)) is expected


def test_trust_differs_by_revocation_too() -> None:
    assert differs_in_trust(settings(), settings(ocsp="on"))
    assert not differs_in_trust(settings(ocsp="on"), settings())
