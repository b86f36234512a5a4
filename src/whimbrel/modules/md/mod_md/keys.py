"""Private keys and certificates of managed domains.  Needs the `cryptography` package (extra "acme")."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes, PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from whimbrel.modules.md.mod_md.settings import KeyKind
from whimbrel.modules.md.mod_md.store import ACCOUNTS, FileStore, MdStoreError

DEFAULT_BITS: Final = 2048
ACCOUNT_BITS: Final = 3072
FALLBACK_NAME: Final = "Apache Managed Domain Fallback"
FALLBACK_DAYS: Final = 14
CHALLENGE_NAME: Final = "tls-alpn-01-challenge"
ACME_IDENTIFIER: Final = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.31")  # RFC 8737
MAX_COMMON_NAME: Final = 64
_CURVES: Final[dict[str, type[ec.EllipticCurve]]] = {
    "secp256r1": ec.SECP256R1,
    "prime256v1": ec.SECP256R1,
    "p-256": ec.SECP256R1,
    "secp384r1": ec.SECP384R1,
    "p-384": ec.SECP384R1,
    "secp521r1": ec.SECP521R1,
    "p-521": ec.SECP521R1,
    "secp256k1": ec.SECP256K1,
}


def generate(spec: KeyKind) -> PrivateKeyTypes:
    """Return a new private key; raises MdStoreError for an unknown curve."""
    if spec.kind != "EC":
        return rsa.generate_private_key(65537, spec.bits or DEFAULT_BITS)
    curve = _CURVES.get(spec.curve.lower())
    if curve is None:
        raise MdStoreError(f"error generate EC key for group: {spec.curve}")
    return ec.generate_private_key(curve())


def key_file(spec: KeyKind, prefix: str = "") -> str:
    """Return the file name of a private key: ``privkey.pem``, ``privkey.secp384r1.pem``."""
    return f"{prefix}privkey{spec.suffix}.pem"


def chain_file(spec: KeyKind, prefix: str = "") -> str:
    """Return the file name of a certificate with its chain."""
    return f"{prefix}pubcert{spec.suffix}.pem"


def key_pem(key: PrivateKeyTypes, phrase: bytes | None = None) -> bytes:
    """Return a private key in PKCS #8, encrypted if there is a pass phrase."""
    protection: KeySerializationEncryption = NoEncryption()
    if phrase:
        protection = BestAvailableEncryption(phrase)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, protection)


def load_key(store: FileStore, group: str, name: str, file: str) -> PrivateKeyTypes:
    """Return a private key of the store; raises OSError, or MdStoreError if it is unreadable."""
    data = store.load(group, name, file)
    phrase = store.phrase(group) if b"ENCRYPTED" in data else None
    try:
        return load_pem_private_key(data, phrase)
    except (ValueError, TypeError) as problem:
        raise MdStoreError(f"error loading pkey {store.path(group, name, file)}: {problem}") from None


def save_key(store: FileStore, group: str, name: str, file: str, key: PrivateKeyTypes) -> None:
    """Write a private key to the store, encrypted where the group has it so.

    Workers read those of accounts, which root has written: as in httpd, encryption protects them.
    """
    is_secret = group != ACCOUNTS
    store.save(group, name, file, key_pem(key, store.phrase(group)), secret=is_secret)


def chain(data: bytes) -> list[x509.Certificate]:
    """Return the certificates of a PEM text; raises ValueError without any."""
    return x509.load_pem_x509_certificates(data)


def chain_pem(certificates: list[x509.Certificate]) -> bytes:
    """Return certificates in PEM."""
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def belongs(key: PrivateKeyTypes, certificate: x509.Certificate) -> bool:
    """Return True if *key* is the private key of *certificate*."""
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return key.public_key().public_bytes(*form) == certificate.public_key().public_bytes(*form)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def self_signed(
    key: CertificateIssuerPrivateKeyTypes, name: x509.Name, begin: datetime, lifetime: timedelta
) -> x509.CertificateBuilder:
    """Return the builder of a certificate that *key* signs for itself."""
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + lifetime)
    )


def _of_domains(
    key: Any, common_name: str, domains: list[str], now: float, days: int
) -> x509.CertificateBuilder:
    return (
        self_signed(key, _name(common_name), datetime.fromtimestamp(int(now), UTC), timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, domains))), critical=False)
    )


def fallback_certificate(key: Any, domains: list[str], now: float) -> x509.Certificate:
    """Return the certificate that a server has until its first one was issued."""
    usage = x509.KeyUsage(True, False, False, False, False, False, False, False, False)
    return (
        _of_domains(key, FALLBACK_NAME, domains, now, FALLBACK_DAYS)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )


def challenge_certificate(key: Any, domain: str, authorization: str, now: float) -> x509.Certificate:
    """Return the certificate that answers tls-alpn-01 (RFC 8737, 3)."""
    digest = b"\x04\x20" + sha256(authorization.encode()).digest()
    return (
        _of_domains(key, CHALLENGE_NAME, [domain], now, 7)
        .add_extension(x509.UnrecognizedExtension(ACME_IDENTIFIER, digest), critical=True)
        .sign(key, hashes.SHA256())
    )


def signing_request(key: Any, domains: list[str], *, must_staple: bool) -> bytes:
    """Return a certificate signing request in DER."""
    common = [domain for domain in domains if len(domain) <= MAX_COMMON_NAME][:1]
    builder = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(_name(common[0]) if common else x509.Name([]))
        .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, domains))), critical=False)
    )
    if must_staple:
        feature = x509.TLSFeature([x509.TLSFeatureType.status_request])
        builder = builder.add_extension(feature, critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


# facts about certificates ------------------------------------------------------------------------
def _extension(certificate: x509.Certificate, kind: Any) -> Any:
    try:
        return certificate.extensions.get_extension_for_class(kind).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None


def alternative_names(certificate: x509.Certificate) -> list[str]:
    """Return the host names of a certificate in lower case."""
    found = _extension(certificate, x509.SubjectAlternativeName)
    return [] if found is None else [name.lower() for name in found.get_values_for_type(x509.DNSName)]


def has_must_staple(certificate: x509.Certificate) -> bool:
    """Return True if clients must get an OCSP response (RFC 7633)."""
    found = _extension(certificate, x509.TLSFeature)
    return found is not None and x509.TLSFeatureType.status_request in found


def validity(certificate: x509.Certificate) -> tuple[float, float]:
    """Return the first and the last second of a certificate since the epoch."""
    return certificate.not_valid_before_utc.timestamp(), certificate.not_valid_after_utc.timestamp()


def serial(certificate: x509.Certificate) -> str:
    """Return the serial number in hexadecimal digits, an even number of them."""
    digits = f"{abs(certificate.serial_number):X}"
    return "0" * (len(digits) % 2) + digits


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 digest of a certificate in hexadecimal digits."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def issuer(certificate: x509.Certificate) -> str:
    """Return the issuer's name in the old form of OpenSSL: ``/C=US/CN=name``."""
    parts = [part for group in certificate.issuer.rdns for part in group]
    return "".join(f"/{part.rfc4514_attribute_name}={part.value!s}" for part in parts)


def ari_id(certificate: x509.Certificate) -> str:
    """Return the identifier of a certificate for renewal information (RFC 9773, 4.1), "" without a key id."""
    found = _extension(certificate, x509.AuthorityKeyIdentifier)
    if found is None or found.key_identifier is None:
        return ""
    number = certificate.serial_number
    data = number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)
    return f"{base64url(found.key_identifier)}.{base64url(data)}"


def base64url(data: bytes) -> str:
    """Return base64url without padding (RFC 7515)."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
