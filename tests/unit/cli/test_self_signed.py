"""The certificate of `whimbrel serve --tls`."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from whimbrel.cli.self_signed import include_line, make


def test_a_client_that_trusts_the_certificate_accepts_localhost(tmp_path: Path) -> None:
    certificate, key = make(tmp_path)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cafile=str(certificate))
    one, other = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(one, other, server_hostname="localhost")
    far = server.wrap_bio(other, one, server_side=True)
    for _ in range(3):
        for side in (near, far):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
    assert near.version() == "TLSv1.3"


def test_the_added_host_names_its_port(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = include_line(18443, tmp_path)
    file = Path(line.removeprefix('Include "').removesuffix('"'))
    assert "Listen 127.0.0.1:18443 https" in file.read_text()
    assert "https://localhost:18443/" in capsys.readouterr().out
