"""Stapling: responders that are good, down, slow, stale or wrong; lines and responses are httpd's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography.x509 import ocsp
from OpenSSL import SSL
from tests.support.ocsp import (
    REVOKED,
    UNKNOWN,
    Certificate,
    FakeResponder,
    over_http,
    response_to,
)
from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite

from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.ssl.mod_ssl.stapling import MAX_RESPONSE, Stapling

CA, OTHER = Certificate("authority"), Certificate("other")
LEAF = Certificate("localhost", CA)
TRY_LATER = ocsp.OCSPResponseStatus.TRY_LATER
Answer = Callable[[bytes], bytes | None]


def stapled(answer: Answer, **settings: Any) -> tuple[bytes, list[str], list[bytes]]:
    """Return the response of a second handshake, the codes of both, and the requests of the responder."""
    lines: list[LogLine] = []
    with FakeResponder(answer) as responder:
        stapling = Stapling({"url": responder.url, "timeout": 1, **settings}, "")
        assert stapling.add(LEAF.pair(CA), [], "localhost:443") == []
        assert stapling.needs_fetch()
        first = stapling.response(LEAF.der, lines)
        second = stapling.response(LEAF.der, lines)
        assert first == second
    return second, [line.code for line in lines], responder.requests


def good(request: bytes, **more: Any) -> bytes:
    return over_http(response_to(request, CA, LEAF, **more))


def test_a_response_is_fetched_once_and_sent_as_it_came() -> None:
    data, codes, requests = stapled(good)
    assert codes == []
    assert len(requests) == 1
    assert requests[0].startswith(b"POST /status HTTP/1.0\r\nHost: 127.0.0.1:")
    assert ocsp.load_der_ocsp_response(data).certificate_status is ocsp.OCSPCertStatus.GOOD


@pytest.mark.parametrize(
    ("answer", "codes"),
    [
        (lambda _request: None, ["AH01985", "AH01941"]),
        (lambda _request: b"HTTP/1.0 500 No\r\n\r\n", ["AH01980", "AH01941"]),
        (lambda _request: b"junk", ["AH01980", "AH01941"]),
        (lambda _request: b"HTTP/1.0 200 OK\r\n" + b"a: b\r\n" * 300 + b"\r\n", ["AH01982", "AH01941"]),
        (lambda _request: b"HTTP/1.0 200 OK\r\n" + b"a" * 9000, ["AH01979", "AH01941"]),
        (lambda _request: over_http(b"junk"), ["AH01988", "AH01941"]),
        (lambda _request: over_http(b"\0" * (3 << 20)), ["AH01986", "AH01941"]),
    ],
)
@pytest.mark.parametrize("fakes", [True, False])
def test_a_responder_without_response_means_try_later(answer: Answer, codes: list[str], fakes: bool) -> None:
    data, found, requests = stapled(answer, fake_try_later=fakes)
    assert found == codes
    assert len(requests) == 1  # the failure is cached
    if fakes:
        assert ocsp.load_der_ocsp_response(data).response_status is TRY_LATER
    else:
        assert data == b""


def test_a_responder_that_is_down() -> None:
    lines: list[LogLine] = []
    stapling = Stapling({"url": "http://127.0.0.1:1/"}, "")
    stapling.add(LEAF.pair(CA), [], "localhost:443")
    assert ocsp.load_der_ocsp_response(stapling.response(LEAF.der, lines)).response_status is TRY_LATER
    assert [(line.code, line.cause) for line in lines] == [
        ("AH01974", "(111)Connection refused"),
        ("AH01941", ""),
    ]


def test_a_slow_responder_has_one_timeout_for_the_whole_response() -> None:
    begun = monotonic()
    lines: list[LogLine] = []
    with FakeResponder(good, pause=0.2) as responder:  # a byte at a time
        stapling = Stapling({"url": responder.url, "timeout": 1}, "")
        stapling.add(LEAF.pair(CA), [], "localhost:443")
        stapling.response(LEAF.der, lines)
    assert 0.5 < monotonic() - begun < 10
    assert lines[0].cause == "(70007)The timeout specified has expired"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"age": 7200, "life": 3600}, "AH01936"),
        ({"age": -4000}, "AH01936"),
        ({"status": REVOKED}, "AH02969"),
        ({"status": UNKNOWN}, "AH02969"),
    ],
)
@pytest.mark.parametrize("returns", [True, False])
def test_stale_and_bad_responses(more: dict[str, Any], code: str, returns: bool) -> None:
    data, codes, _ = stapled(lambda request: good(request, **more), return_errors=returns)
    assert codes[0] == code
    assert bool(data) is returns


def test_a_response_about_another_certificate() -> None:
    other = Certificate("other", CA)
    data, codes, _ = stapled(lambda request: over_http(response_to(request, CA, other)), return_errors=False)
    assert codes == ["AH01935", "AH01943"]
    assert data == b""


def test_a_response_has_a_bound() -> None:
    large = lambda request: good(request, more_certificates=MAX_RESPONSE // len(CA.der) + 1)  # noqa: E731
    data, codes, _ = stapled(large)
    assert codes == ["AH01928"]
    assert data == b""


def test_certificates_that_cannot_have_responses() -> None:
    stapling = Stapling({}, "")
    assert [line.code for line in stapling.add(LEAF.pair(), [OTHER.certificate], "a:443")] == ["AH02217"]
    assert [line.code for line in stapling.add(LEAF.pair(CA), [], "a:443")] == ["AH02814"]
    lines: list[LogLine] = []
    assert stapling.response(LEAF.der, lines) == b""
    assert [line.code for line in lines] == ["AH01926"]
    assert not stapling.needs_fetch()


@pytest.fixture
def responder() -> Iterator[FakeResponder]:
    with FakeResponder(good) as found:
        yield found


def test_a_handshake_has_the_response(tmp_path: Path, responder: FakeResponder) -> None:
    conf = "SSLStaplingCache shmcb:/tmp/x\n" + ONE_HOST.replace("conf/lo.", "conf/st.").replace(
        "SSLCACertificateFile conf/ca.crt\n", "SSLCACertificateFile conf/st-ca.crt\n"
    ).replace("@MORE@", f"SSLUseStapling on\nSSLStaplingForceURL {responder.url}")
    LEAF.write(tmp_path / "conf", "st")
    CA.write(tmp_path / "conf", "st-ca")
    site = TlsServerSite(tmp_path, conf, more="socache_shmcb")
    found: list[bytes] = []

    async def run() -> None:
        client = TlsClient(site.service())
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_ocsp_client_callback(lambda _connection, data, _none: found.append(data) or True)
        connection = SSL.Connection(context, None)
        connection.set_connect_state()
        connection.request_ocsp()
        for _ in range(200):
            try:
                connection.do_handshake()
            except SSL.WantReadError:
                pass
            try:
                client.server.data_received(connection.bio_read(65536))
            except SSL.WantReadError:
                pass
            await asyncio.sleep(0.01)  # the responder is asked in a thread
            if client.transport.out:
                connection.bio_write(client.transport.out)
                client.transport.out = b""
            if found:
                break

    asyncio.run(run())
    assert ocsp.load_der_ocsp_response(found[0]).certificate_status is ocsp.OCSPCertStatus.GOOD
    assert len(responder.requests) == 1
