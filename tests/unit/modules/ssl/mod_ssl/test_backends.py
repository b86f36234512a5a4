"""Checks of the certificates of back ends by dialect, and connections to real TLS servers."""

from __future__ import annotations

import asyncio
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography import x509
from tests.support.tls import case, text_of

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.modules.ssl.mod_ssl import backends
from whimbrel.modules.ssl.mod_ssl.backend_contexts import BackendContext, make
from whimbrel.modules.ssl.mod_ssl.settings import SslProxyDirConfig
from whimbrel.modules.ssl.mod_ssl.start_messages import StartFailure
from whimbrel.registry.settings import with_defaults
from whimbrel.testing.fake_runtime import FakeRuntime

# by recorded case: file of the certificate, lines of the proxy
SETTINGS = {
    "defaults": {},
    "SSLProxyCheckPeerCN Off": {"check_cn": False},
    "SSLProxyCheckPeerName Off": {"check_name": False},
    "SSLProxyCheckPeerCN Off / SSLProxyCheckPeerName Off": {"check_cn": False, "check_name": False},
    "SSLProxyCheckPeerCN On / SSLProxyCheckPeerExpire On": {"check_cn": True, "check_expire": True},
}
NUMBERS = [n + d for n in (178, 190, 202, 214, 226, 238, 250) for d in (0, 1, 2, 3, 5)] + [262]
DIALECTS: dict[str, Dialect] = {"2.2": V22, "2.4": V24}


def conf_of(**fields: Any) -> SslProxyDirConfig:
    """Return settings with *fields*."""
    record = SslProxyDirConfig()
    for name, value in fields.items():
        setattr(record, name, value)
    return with_defaults(record)


def test_back_ends_may_ask_for_a_certificate_later() -> None:
    assert make(V24, conf_of(), []).context.post_handshake_auth


@pytest.mark.parametrize(
    ("number", "version"), [(n, v) for n in NUMBERS for v in DIALECTS if v in case(n)["answers"]]
)
def test_recorded_checks(number: int, version: str) -> None:
    recorded = case(number)
    subject, _, lines = recorded["title"].partition(": ")
    name = subject.rpartition(" ")[2]
    certificate = x509.load_pem_x509_certificate(text_of(number, f"conf/{name}.crt").encode())
    expected = [response["status"] for response in recorded["answers"][version]["responses"][:2]]
    conf = conf_of(**SETTINGS[lines])
    found = [
        backends.refusals(DIALECTS[version], conf, certificate, host, time.time())
        for host in ("127.0.0.1", "localhost")
    ]
    assert [500 if problems else 200 for problems in found] == expected


@pytest.mark.parametrize(
    ("host", "name"),
    [("localhost", "localhost"), ("127.0.0.1", ""), ("::1", ""), ("a..b", ""), ("x" * 64, "")],
)
def test_server_name_indication(host: str, name: str) -> None:
    assert backends.server_name(host) == name


def test_depth_of_a_chain() -> None:
    found = BackendContext(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    one = x509.load_pem_x509_certificate(text_of(178, "conf/lo.crt").encode())
    assert backends.chain_refusals(conf_of(depth=1), [one, one], found) == []
    (problem,) = backends.chain_refusals(conf_of(depth=1), [one, one, one], found)
    assert problem.code == "AH02040"


def test_revoked_certificates() -> None:
    crl = x509.load_pem_x509_crl(text_of(38, "conf/ca.crl").encode())

    def certificate(name: str) -> x509.Certificate:
        text = text_of(38, name)
        return x509.load_pem_x509_certificate(text[text.index("-----BEGIN CERT") :].encode())

    assert backends.is_revoked(certificate("conf/clrev.pem"), [crl])
    assert not backends.is_revoked(certificate("conf/cl1.pem"), [crl])


# recorded cases with the files of a server
FILES = {"lo": 178, "self": 256, "expired": 232}


# connections --------------------------------------------------------------------------------------
class Peer(asyncio.Protocol):
    """A connected protocol."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport


async def handshake(root: Path, name: str, conf: SslProxyDirConfig, host: str = "localhost") -> Any:
    """Return the session of a connection to a server with the certificate *name*."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for kind in ("crt", "key"):
        (root / f"s.{kind}").write_text(text_of(FILES[name], f"conf/{name}.{kind}"))
    context.load_cert_chain(root / "s.crt", root / "s.key")
    seen: list[str | None] = []
    context.sni_callback = lambda _object, server_name, _context: seen.append(server_name)  # type: ignore[assignment]
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0, ssl=context)
    try:
        address = server.sockets[0].getsockname()
        made = make(V24, conf, []).context
        tls = BackendTlsParameters(made, backends.server_name(host), host)
        peer = await FakeRuntime().connect(Peer, address, timeout=5, tls=tls)
        session = peer.transport.get_extra_info("ssl_object")
        peer.transport.abort()
        return session, seen[0]
    finally:
        server.close()


async def shown_to(root: Path, conf: SslProxyDirConfig) -> dict[str, Any] | None:
    """Return the certificate that a back end gets which asks for one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for kind in ("crt", "key"):
        (root / f"s.{kind}").write_text(text_of(FILES["lo"], f"conf/lo.{kind}"))
    context.load_cert_chain(root / "s.crt", root / "s.key")
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # in 1.3 the client is done before it is asked
    context.load_verify_locations(authority(root))
    context.verify_mode = ssl.CERT_OPTIONAL
    shown: list[Any] = []

    def accepted(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown.append(writer.get_extra_info("ssl_object").getpeercert())
        writer.close()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0, ssl=context)
    try:
        tls = BackendTlsParameters(make(V24, conf, []).context, "localhost", "localhost")
        peer = await FakeRuntime().connect(Peer, server.sockets[0].getsockname(), timeout=5, tls=tls)
        for _ in range(500):
            if shown:
                break
            await asyncio.sleep(0.01)
        peer.transport.abort()
        return shown[0] or None
    finally:
        server.close()


PAIR = ("crt", "key")


def machine(root: Path, name: str, kinds: tuple[str, ...] = PAIR, key_of: str = "") -> str:
    """Write a file of SSLProxyMachineCertificateFile: the parts *kinds*, the key perhaps of another one."""
    (root / "machines").mkdir(exist_ok=True)
    path = root / "machines" / f"{name}.pem"
    names = {"crt": name, "key": key_of or name}
    path.write_text("".join(text_of(FILES[names[kind]], f"conf/{names[kind]}.{kind}") for kind in kinds))
    return str(path)


@pytest.mark.parametrize("field", ["certificate_file", "certificate_path"])
def test_a_machine_certificate_is_shown(tmp_path: Path, field: str) -> None:
    """SSLProxyMachineCertificateFile, and each file of SSLProxyMachineCertificatePath."""
    path = Path(machine(tmp_path, "lo"))
    place = str(path if field == "certificate_file" else path.parent)
    shown = asyncio.run(shown_to(tmp_path, conf_of(**{field: place})))
    assert shown is not None and (("commonName", "localhost"),) in shown["subject"]


def test_without_a_machine_certificate_none_is_shown(tmp_path: Path) -> None:
    assert asyncio.run(shown_to(tmp_path, conf_of())) is None


@pytest.mark.parametrize(
    ("kinds", "key_of", "code"),
    [(("crt",), "", "AH02252"), (("key",), "", "AH02252"), (PAIR, "self", "AH02326")],
)
def test_a_machine_certificate_needs_its_key(
    tmp_path: Path, kinds: tuple[str, ...], key_of: str, code: str
) -> None:
    conf = conf_of(certificate_file=machine(tmp_path, "lo", kinds, key_of))
    with pytest.raises(StartFailure) as problem:
        make(V24, conf, [])
    assert [line.code for line in problem.value.lines][0] == code


def test_a_directory_without_certificates_is_logged(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    lines: list[Any] = []
    make(V24, conf_of(certificate_path=str(tmp_path / "empty")), lines)
    assert [line.code for line in lines] == ["AH02206"]


def authority(root: Path) -> str:
    """Write the recorded authority; return its path."""
    (root / "ca.crt").write_text(text_of(178, "conf/ca.crt"))
    return str(root / "ca.crt")


def test_verified_connection(tmp_path: Path) -> None:
    conf = conf_of(verify="require", ca_file=authority(tmp_path))
    session, name = asyncio.run(handshake(tmp_path, "lo", conf))
    assert (len(backends.chain_of(session)), name) == (2, "localhost")


def test_no_name_is_indicated_for_an_address(tmp_path: Path) -> None:
    assert asyncio.run(handshake(tmp_path, "lo", conf_of(), "127.0.0.1"))[1] is None


@pytest.mark.parametrize(("name", "number"), [("self", 18), ("expired", 10)])
def test_verification_errors_have_the_library_s_numbers(tmp_path: Path, name: str, number: int) -> None:
    conf = conf_of(verify="require", ca_file=authority(tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError) as caught:
        asyncio.run(handshake(tmp_path, name, conf))
    assert caught.value.verify_code == number


def test_protocols_of_a_context() -> None:
    one = make(V24, conf_of(protocols=frozenset({"TLSv1.2"})), []).context
    assert (one.minimum_version, one.maximum_version) == (ssl.TLSVersion.TLSv1_2,) * 2


def test_parameters_compare_by_context_and_name() -> None:
    tls = BackendTlsParameters(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "a", "a")
    assert replace(tls) == tls and replace(tls, host="b") != tls
