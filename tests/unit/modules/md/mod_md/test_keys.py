"""Identifiers of certificates for renewal information."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from whimbrel.modules.md.mod_md.keys import ari_id

KEY = ec.generate_private_key(ec.SECP256R1())
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a.example")])
NOW = datetime.now(UTC)
AUTHORITY = x509.AuthorityKeyIdentifier(bytes.fromhex("69885B6B87464041E1B37B847BA0AE2CDE01C8D4"), None, None)


def certificate(number: int, authority: x509.AuthorityKeyIdentifier | None) -> x509.Certificate:
    builder = x509.CertificateBuilder(NAME, NAME, KEY.public_key(), number, NOW, NOW + timedelta(days=1))
    if authority is not None:
        builder = builder.add_extension(authority, critical=False)
    return builder.sign(KEY, hashes.SHA256())


@pytest.mark.parametrize(
    ("number", "authority", "expected"),
    [
        (0x87654321, AUTHORITY, "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE"),
        (0x7654321, AUTHORITY, "aYhba4dGQEHhs3uEe6CuLN4ByNQ.B2VDIQ"),
        (1, x509.AuthorityKeyIdentifier(None, [x509.DirectoryName(NAME)], 5), ""),
        (1, None, ""),
    ],
    ids=["RFC 9773, 4.1", "positive", "no key identifier", "no extension"],
)
def test_the_identifier_is_the_key_of_the_issuer_and_the_serial_number(
    number: int, authority: x509.AuthorityKeyIdentifier | None, expected: str
) -> None:
    """The number has the bytes of DER: a first one above 127 has a zero before it."""
    assert ari_id(certificate(number, authority)) == expected
