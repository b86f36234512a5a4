"""TLS that HTTP/2 accepts; which sessions apache2 2.4.71 refuses."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.site import load_module_lines
from tests.support.tls_clients import ONE_HOST, TlsClient, TlsServerSite

from whimbrel.server.http2.security import is_suitable


@pytest.mark.parametrize(
    ("version", "cipher", "suits"),
    [
        ("TLSv1.3", "TLS_AES_128_GCM_SHA256", True),
        ("TLSv1.2", "ECDHE-RSA-AES128-GCM-SHA256", True),
        ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305", True),
        ("TLSv1.2", "DHE-RSA-AES256-CCM8", True),
        ("TLSv1.2", "AES128-GCM-SHA256", False),
        ("TLSv1.2", "AES128-SHA256", False),
        ("TLSv1.2", "ECDHE-RSA-AES128-SHA", False),
        ("TLSv1.1", "ECDHE-RSA-AES128-SHA", False),
    ],
)
def test_sessions(version: str, cipher: str, suits: bool) -> None:
    session: Any = SimpleNamespace(version=version, cipher=cipher)
    assert is_suitable(session) is suits


def test_connections_without_tls() -> None:
    assert is_suitable(None)


@pytest.mark.parametrize(("settings", "code"), [("", 12), ("H2ModernTLSOnly off", None)])
def test_other_sessions_get_goaway(tmp_path: Path, settings: str, code: int | None) -> None:
    more = f"SSLCipherSuite HIGH\nProtocols h2 http/1.1\n{settings}"
    server = TlsServerSite(tmp_path, load_module_lines(["http2"]) + ONE_HOST.replace("@MORE@", more))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers("AES128-SHA256")
    context.set_alpn_protocols(["h2"])

    async def run() -> bytes:
        client = TlsClient(server.service(), context=context)
        client.handshake()
        return client.tls.read(4096)

    data = asyncio.run(run())
    kinds = {}
    while data:
        size = int.from_bytes(data[:3])
        kinds[data[3]] = data[9 : 9 + size]
        data = data[9 + size :]
    assert (int.from_bytes(kinds[7][4:8]) if 7 in kinds else None) == code
