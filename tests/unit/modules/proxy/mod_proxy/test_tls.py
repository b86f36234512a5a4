"""HTTPS back ends: statuses and log codes of 2.4.71, as recorded in modules-ssl-0178 to 0269."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.tls import text_of
from tests.support.tls_backend import TlsBackend
from tests.support.tls_site import TlsSite

FAILED = ["AH01084", "AH00898", "AH01097"]


def site_of(root: Path, port: int, lines: str = "SSLProxyEngine On\n", host: str = "127.0.0.1") -> TlsSite:
    """Return a site that maps /b to the back end."""
    site = TlsSite(root, f"{lines}ProxyPass /b https://{host}:{port}/\n", more="proxy proxy_http")
    site.runtime.open_segments(site.engine.configuration)
    return site


@pytest.mark.parametrize(
    ("lines", "host", "status"),
    [
        ("", "localhost", 200),
        ("", "127.0.0.1", 500),
        ("SSLProxyCheckPeerName Off\n", "127.0.0.1", 200),
        ("ProxyPreserveHost On\n", "127.0.0.1", 200),
    ],
)
def test_name_of_the_certificate(tmp_path: Path, lines: str, host: str, status: int) -> None:
    with TlsBackend(tmp_path) as backend:
        site = site_of(tmp_path, backend.port, f"SSLProxyEngine On\n{lines}", host)
        response = site.over(None, "/b")
    assert int(response.split(" ", 2)[1]) == status
    assert site.codes() == ([] if status == 200 else FAILED)
    if status == 500:
        assert "Error during SSL Handshake with remote server" in response
    is_named = host == "localhost" or "PreserveHost" in lines
    assert backend.names == ["localhost" if is_named else None]


def test_authority(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(text_of(256, "conf/ca.crt"))
    lines = f"SSLProxyEngine On\nSSLProxyVerify require\nSSLProxyCACertificateFile {tmp_path}/ca.crt\n"
    with TlsBackend(tmp_path, "self", 256) as backend:
        site = site_of(tmp_path, backend.port, lines)
        assert site.status_over(None, "/b") == 500
    assert site.codes() == ["AH02039", *FAILED]


def test_settings_of_a_section(tmp_path: Path) -> None:
    with TlsBackend(tmp_path) as backend:
        url = f"https://127.0.0.1:{backend.port}/"
        lines = f"<Proxy {url}>\nSSLProxyEngine On\nSSLProxyCheckPeerCN Off\n</Proxy>\n"
        assert site_of(tmp_path, backend.port, lines).status_over(None, "/b") == 200


def test_engine_off(tmp_path: Path) -> None:
    with TlsBackend(tmp_path) as backend:
        site = site_of(tmp_path, backend.port, "")
        assert site.status_over(None, "/b") == 500
    assert site.codes() == ["AH01961", "AH00961"]


def test_back_end_without_tls(tmp_path: Path) -> None:
    with TlsBackend(tmp_path, plain=True) as backend:
        site = site_of(tmp_path, backend.port)
        assert site.status_over(None, "/b") == 500
    assert site.codes() == FAILED
