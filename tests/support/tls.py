"""Certificates, sessions and servers of TLS for tests; the certificates are those of the recorded cases."""

from __future__ import annotations

import json
import lzma
import ssl
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "modules-ssl.jsonl.xz"


@cache
def recordings() -> tuple[str, ...]:
    """Return the recorded cases of mod_ssl, each as a line of JSON."""
    with lzma.open(CASES, "rt") as lines:
        return tuple(lines)


@cache
def case(number: int) -> dict[str, Any]:
    """Return the recorded case modules-ssl-NUMBER."""
    wanted = f'"modules-ssl-{number:04}"'
    found: dict[str, Any] = next(json.loads(line) for line in recordings() if wanted in line[:60])
    return found


def text_of(number: int, name: str) -> str:
    """Return a file of a recorded case."""
    content = case(number)["files"][name]
    return str(content if isinstance(content, str) else content["text"])


def pem(name: str, number: int = 54) -> str:
    """Return the certificate in a file of a recorded case."""
    text = text_of(number, name)
    begin, end = text.index("-----BEGIN CERTIFICATE"), text.index("-----END CERTIFICATE-----")
    return text[begin : end + 26]


def der(name: str, number: int = 54) -> bytes:
    """Return the certificate in a file of a recorded case in DER."""
    return ssl.PEM_cert_to_DER_cert(pem(name, number))


@dataclass
class FakeTls:
    """A session as `engine.tls.TlsSession` describes it: that of the recorded requests over TLS 1.2."""

    certificate: bytes
    peer_certificate: bytes | None = None
    server_name: str = "localhost"
    version: str = "TLSv1.2"
    cipher: str = "ECDHE-RSA-AES256-GCM-SHA384"
    used_bits: int = 256
    algorithm_bits: int = 256
    session_id: str = "0A1B"
    is_resumed: bool = False
    has_secure_renegotiation: bool = True
    compression: str = "NULL"
    peer_chain: tuple[bytes, ...] = ()
    verify_error: str = ""
    is_unverified: bool = False
    is_listed_name: bool = True
    server: Any = None  # of the handshake

    def end(self, *, is_answering: bool) -> None:
        """Stay as it is."""


def recorded_tls(peer: str = "") -> FakeTls:
    """Return the session of the recorded cases; *peer* is the file of the client's certificate."""
    own, client = der("conf/lo.crt"), der(peer) if peer else None
    return FakeTls(own, client, peer_chain=(client,) if client else ())
