"""Files with certificates and private keys, read when a server starts.

Needs the `cryptography` package (extra "tls").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_private_key,
    load_pem_private_key,
)

from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes

_KEY: Final = re.compile(rb"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)
_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----(.*?)-----END \1-----", re.DOTALL
)
_CRL: Final = re.compile(rb"-----BEGIN X509 CRL-----.*?-----END X509 CRL-----", re.DOTALL)
_ENCRYPTED: Final = (b"ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")
MAX_FILE: Final = 64 * 1024 * 1024
MAX_CACHED_KEYS: Final = 64
MAX_CACHED_KEY: Final = 16 * 1024
"""Bytes of the text of a key that is cached."""


class KeyPair(NamedTuple):
    """A server's certificate with its chain, and its private key without encryption, in PEM."""

    chain: tuple[bytes, ...]  # certificates in DER, the server's own first
    key: bytes


class EncryptedKey(Exception):
    """The key needs a pass phrase, or another one."""


class NoKey(Exception):
    """There is no private key that can be read."""


def read(path: str) -> bytes:
    """Return the contents of a file; raises OSError."""
    return read_start(to_bytes(path), MAX_FILE)


def certificates(data: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM file in order, up to one that is malformed."""
    found = []
    for match in _CERTIFICATE.finditer(data):
        try:
            block = b"-----BEGIN CERTIFICATE-----" + match[2] + b"-----END CERTIFICATE-----\n"
            found.append(x509.load_pem_x509_certificate(block))
        except ValueError:
            break
    return found


def revocation_lists(data: bytes) -> list[x509.CertificateRevocationList]:
    """Return the revocation lists of a PEM file; raises ValueError."""
    return [x509.load_pem_x509_crl(match[0] + b"\n") for match in _CRL.finditer(data)]


def first_certificate(data: bytes) -> x509.Certificate | None:
    """Return the first certificate of a file in PEM or DER, None without one (2.2)."""
    found = certificates(data)
    if found:
        return found[0]
    try:
        return x509.load_der_x509_certificate(data)
    except ValueError:
        return None


def is_encrypted(data: bytes) -> bool:
    """Return True if the private key of a PEM file is encrypted."""
    match = _KEY.search(data)
    return match is not None and any(mark in match[0] for mark in _ENCRYPTED)


def private_key(data: bytes, phrase: str | None = None, *, takes_der: bool = False) -> PrivateKeyTypes:
    """Return the first private key of a PEM file; raises EncryptedKey or NoKey."""
    match = _KEY.search(data)
    try:
        if match is None:
            if not takes_der:
                raise NoKey
            return load_der_private_key(data, None)
        secret = to_bytes(phrase) if phrase is not None and is_encrypted(data) else None
        if secret is None and len(match[0]) <= MAX_CACHED_KEY:
            return _plain_key(match[0] + b"\n")
        return load_pem_private_key(match[0] + b"\n", secret)
    except (ValueError, TypeError) as problem:
        if is_encrypted(data):
            raise EncryptedKey from problem
        raise NoKey from problem


@lru_cache(maxsize=MAX_CACHED_KEYS)
def _plain_key(text: bytes) -> PrivateKeyTypes:
    """Return the key of a PEM text without a phrase: the check of an RSA key takes 50 ms, and a comparison
    loads the same configuration many times.
    """
    return load_pem_private_key(text, None)


def belongs(key: PrivateKeyTypes, certificate: x509.Certificate) -> bool:
    """Return True if *key* is the private key of *certificate*."""
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return key.public_key().public_bytes(*form) == certificate.public_key().public_bytes(*form)


def pair(key: PrivateKeyTypes, chain: list[x509.Certificate]) -> KeyPair:
    """Return the key pair of *key* and *chain*."""
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return KeyPair(tuple(one.public_bytes(Encoding.DER) for one in chain), secret)
