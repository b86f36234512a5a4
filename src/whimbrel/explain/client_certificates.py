"""The certificate of a client: read from a file, or made for a subject. Probes count it as verified.

Needs the `cryptography` package (extra "tls").
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.modules.md.mod_md.keys import self_signed

_DAYS: Final = 365
_MAX_FILE: Final = 1 << 20
_OPENSSL_NAMES: Final = {"emailAddress": x509.oid.NameOID.EMAIL_ADDRESS}


def client_certificate(text: str) -> bytes:
    """Return the certificate (DER) of a PEM file, or one with the subject *text*, which signs itself.

    A subject is written as `CN=robin,O=Lab` (RFC 4514), or with slashes (`/O=Lab/CN=robin`). Raises
    ValueError and OSError.
    """
    if "=" not in text or os.path.isfile(to_bytes(text)):
        data = read_regular(to_bytes(text), _MAX_FILE)
        return x509.load_pem_x509_certificate(data).public_bytes(Encoding.DER)
    written = text if text[:1] != "/" else ",".join(reversed(text[1:].split("/")))
    name = x509.Name.from_rfc4514_string(to_bytes(written).decode("utf-8"), _OPENSSL_NAMES)
    key = ec.generate_private_key(ec.SECP256R1())
    yesterday = datetime.now(UTC) - timedelta(days=1)
    builder = self_signed(key, name, yesterday, timedelta(days=_DAYS + 1))
    return builder.sign(key, SHA256()).public_bytes(Encoding.DER)
