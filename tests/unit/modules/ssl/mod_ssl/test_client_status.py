"""SSLOCSPEnable: a certificate of a client whose status is not certain is refused; lines are httpd's."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.ocsp import (
    REVOKED,
    UNKNOWN,
    Certificate,
    FakeResponder,
    over_http,
    response_to,
)
from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite, status

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.ssl.mod_ssl.client_status import REVOKED as REVOKED_ERROR
from whimbrel.modules.ssl.mod_ssl.client_status import UNDECIDED, ClientStatus
from whimbrel.modules.ssl.mod_ssl.settings import SslServerConfig

CA, OTHER = Certificate("authority"), Certificate("other")
LEAF = Certificate("client", CA)
APPOINTED = Certificate("responder", CA, signs_ocsp=True)
NOT_APPOINTED = Certificate("someone", CA)
FOREIGN = Certificate("responder", OTHER, signs_ocsp=True)
Answer = Callable[[bytes], bytes | None]


def check(answer: Answer, **settings: Any) -> tuple[int, list[str]]:
    """Return the error of the client's certificate, and the codes that were logged."""
    with FakeResponder(answer) as responder:
        conf = SslServerConfig(
            ocsp="on",
            ocsp_may_miss=False,
            ocsp_settings={"responder": responder.url, "timeout": 1, **settings},
        )
        lines: list[LogLine] = []
        error = ClientStatus(conf).error_of(LEAF.certificate, CA.certificate, lines)
    return error, [line.code for line in lines]


def said(**more: Any) -> Answer:
    return lambda request: over_http(response_to(request, CA, LEAF, **more))


def test_statuses() -> None:
    assert check(said()) == (0, ["AH03239"])
    assert check(said(status=REVOKED)) == (REVOKED_ERROR, ["AH03239"])
    assert check(said(status=UNKNOWN)) == (UNDECIDED, ["AH03239"])


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        (lambda _request: None, ["AH01985"]),
        (lambda _request: over_http(b"junk"), ["AH01988"]),
        (said(has_nonce=False), ["AH01924"]),
        (said(age=7200), ["AH02273", "AH03239"]),
        (said(age=-4000), ["AH02273", "AH03239"]),
        (said(signer=NOT_APPOINTED), ["AH01925"]),
        (said(signer=FOREIGN), ["AH01925"]),
        (said(signer=OTHER), ["AH01925"]),
        (lambda request: over_http(response_to(request, CA, Certificate("x", CA))), ["AH02272"]),
    ],
)
def test_what_is_not_certain_refuses(answer: Answer, codes: list[str]) -> None:
    assert check(answer) == (UNDECIDED, codes)


def test_a_responder_that_the_authority_has_appointed() -> None:
    assert check(said(signer=APPOINTED)) == (0, ["AH03239"])


def test_settings_that_relax_the_check(tmp_path: Path) -> None:
    assert check(said(has_nonce=False), nonce=False)[0] == 0
    assert check(said(signer=OTHER), no_verify=True)[0] == 0
    OTHER.write(tmp_path, "other")
    assert check(said(signer=OTHER), certificates=str(tmp_path / "other.crt"))[0] == 0
    assert check(said(age=7200, life=7000), skew=1000)[0] == 0
    assert check(said(age=600), max_age=60)[0] == UNDECIDED


def test_certificates_without_responder() -> None:
    for may_miss, error in ((False, UNDECIDED), (True, 0)):
        conf = SslServerConfig(ocsp="on", ocsp_may_miss=may_miss, ocsp_settings={})
        assert ClientStatus(conf).error_of(LEAF.certificate, CA.certificate, []) == error
    for url in ("https://a/", "http://a:b/", "ftp", "http://"):
        conf = SslServerConfig(ocsp="on", ocsp_may_miss=True, ocsp_settings={"responder": url})
        assert ClientStatus(conf).error_of(LEAF.certificate, CA.certificate, []) == UNDECIDED
    assert ClientStatus(conf).error_of(CA.certificate, None, []) == 0


async def _handshake(client: TlsClient) -> bytes:
    for _ in range(300):
        try:
            client.tls.do_handshake()
            client.send()
            break
        except ssl.SSLWantReadError:
            client.send()
        await asyncio.sleep(0.01)
        client.pump()
    return await client.fetch("GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n", 300)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("where", ["server", "section"])
@pytest.mark.parametrize("is_revoked", [False, True])
def test_handshakes_wait_for_the_responder(
    tmp_path: Path, version: ssl.TLSVersion, where: str, is_revoked: bool
) -> None:
    answer = said(status=REVOKED) if is_revoked else said()
    LEAF.write(tmp_path / "conf", "client")
    (tmp_path / "conf" / "both.pem").write_bytes(LEAF.pem + LEAF.key_pem)
    CA.write(tmp_path / "conf", "clients")

    async def run(site: TlsServerSite) -> bytes:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version, context.post_handshake_auth = version, True
        context.load_cert_chain(tmp_path / "conf" / "both.pem")
        return await _handshake(TlsClient(site.service(), context=context))

    with FakeResponder(answer) as responder:
        verify = "SSLVerifyClient require\n"
        if where == "section":
            verify = f"<Location />\n{verify}</Location>\n"
        conf = ONE_HOST.replace("conf/ca.crt", "conf/clients.crt").replace(
            "@MORE@", f"SSLOCSPEnable leaf\nSSLOCSPDefaultResponder {responder.url}\n{verify}"
        )
        site = TlsServerSite(tmp_path, conf)
        if is_revoked:
            try:
                response = asyncio.run(run(site))
            except ssl.SSLError:
                response = b"HTTP/1.1 403 "
            assert response[:13] in (b"HTTP/1.1 403 ", b"")
        else:
            assert status(asyncio.run(run(site))) == 200
        assert len(responder.requests) == 1
