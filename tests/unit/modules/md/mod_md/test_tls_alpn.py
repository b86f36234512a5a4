"""tls-alpn-01: handshakes that offer acme-tls/1 (RFC 8737)."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

import asyncio
from pathlib import Path

from cryptography import x509
from tests.support.managed_domains import NOW, ManagedSite
from tests.support.tls_clients import TlsClient

from whimbrel.engine.connection import Connection
from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.challenges import ChallengeStore
from whimbrel.modules.md.mod_md.tls_alpn import answer
from whimbrel.server.worker.state import WorkerState


def handshake(site: ManagedSite, name: str, alpn: list[str]) -> tuple[x509.Certificate, str | None]:
    """Return the certificate and the protocol that a client gets."""

    async def run() -> tuple[x509.Certificate, str | None]:
        service = WorkerState(site.engine, asyncio.get_running_loop(), report=_raise)
        client = TlsClient(service, name, alpn=alpn)
        client.handshake()
        der = client.tls.getpeercert(True)
        assert der is not None
        return x509.load_der_x509_certificate(der), client.tls.selected_alpn_protocol()

    return asyncio.run(run())


def _raise(problem: BaseException) -> None:
    raise problem


def test_a_challenge_is_answered(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    answers = ChallengeStore(made.store, made.domains[0], made.reach, lambda: NOW)
    answers.set_up("tls-alpn-01", "b.test", "token.print")
    certificate, protocol = handshake(site, "b.test", ["acme-tls/1"])
    assert protocol == "acme-tls/1" and keys.alternative_names(certificate) == ["b.test"]
    assert certificate.extensions.get_extension_for_oid(keys.ACME_IDENTIFIER).critical
    for name, alpn in (("b.test", ["http/1.1"]), ("a.test", ["acme-tls/1"])):
        certificate, protocol = handshake(site, name, alpn)
        assert "Fallback" in certificate.subject.rfc4514_string() and protocol != "acme-tls/1"
    answers.tear_down()
    assert "Fallback" in handshake(site, "b.test", ["acme-tls/1"])[0].subject.rfc4514_string()


def test_a_damaged_answer_is_none(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    made = site.begin()
    for file in ("pubcert", "privkey"):
        made.store.save("challenges", "a.test", f"acme-tls-alpn-01-{file}.secp256r1.pem", b"junk")
    assert "Fallback" in handshake(site, "a.test", ["acme-tls/1"])[0].subject.rfc4514_string()


def test_names_that_are_no_file_names(tmp_path: Path) -> None:
    site = ManagedSite(tmp_path)
    server = site.begin().domains[0].tls_servers[0]
    connection = Connection("127.0.0.1", 5000, "127.0.0.1", 8443)
    for name in ("", "..", "../domains/a.test", "x/y", ".hidden"):
        assert answer(site.configuration, connection, server, name) is None
