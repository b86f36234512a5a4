"""Certificates: parsed, matched with host names, described as OpenSSL describes them.

Needs the `cryptography` package (extra "tls").
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import ExtensionOID

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import lower
from whimbrel.modules.ssl.mod_ssl.certificate_names import common_names

_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
# OpenSSL's long names, where they differ from those of the package
_ALGORITHMS: Final = {
    "1.2.840.113549.1.1.1": "rsaEncryption",
    "1.2.840.113549.1.1.4": "md5WithRSAEncryption",
    "1.2.840.113549.1.1.5": "sha1WithRSAEncryption",
    "1.2.840.113549.1.1.10": "rsassaPss",
    "1.2.840.113549.1.1.11": "sha256WithRSAEncryption",
    "1.2.840.113549.1.1.12": "sha384WithRSAEncryption",
    "1.2.840.113549.1.1.13": "sha512WithRSAEncryption",
    "1.2.840.113549.1.1.14": "sha224WithRSAEncryption",
    "1.2.840.10040.4.1": "dsaEncryption",
    "1.2.840.10040.4.3": "dsaWithSHA1",
    "2.16.840.1.101.3.4.3.2": "dsa_with_SHA256",
    "1.2.840.10045.2.1": "id-ecPublicKey",
    "1.2.840.10045.4.1": "ecdsa-with-SHA1",
    "1.2.840.10045.4.3.1": "ecdsa-with-SHA224",
    "1.2.840.10045.4.3.2": "ecdsa-with-SHA256",
    "1.2.840.10045.4.3.3": "ecdsa-with-SHA384",
    "1.2.840.10045.4.3.4": "ecdsa-with-SHA512",
    "1.3.101.112": "ED25519",
    "1.3.101.113": "ED448",
}
_KINDS: Final = {"rsaEncryption": "RSA", "dsaEncryption": "DSA", "id-ecPublicKey": "ECC"}
MAX_PARSED: Final = 64


@lru_cache(MAX_PARSED)
def parse(der: bytes) -> x509.Certificate:
    """Return the certificate *der*; raises ValueError."""
    return x509.load_der_x509_certificate(der)


def algorithm(oid: x509.ObjectIdentifier) -> str:
    """Return OpenSSL's long name of an algorithm, UNKNOWN without one."""
    return _ALGORITHMS.get(oid.dotted_string, "UNKNOWN")


def kind_of_key(certificate: x509.Certificate) -> str:
    """Return the kind of the key as 2.2 names it: RSA, DSA or ECC."""
    return _KINDS.get(algorithm(certificate.public_key_algorithm_oid), "RSA")


def serial(certificate: x509.Certificate) -> str:
    """Return the serial number in hexadecimal digits, an even number of them (i2a_ASN1_INTEGER)."""
    digits = f"{abs(certificate.serial_number):X}"
    return ("-" if certificate.serial_number < 0 else "") + "0" * (len(digits) % 2) + digits


def time_text(moment: datetime) -> str:
    """Return ``Jan  1 00:00:00 2045 GMT`` (ASN1_TIME_print)."""
    return f"{_MONTHS[moment.month - 1]} {moment.day:2} {moment:%H:%M:%S} {moment.year} GMT"


def days_left(certificate: x509.Certificate, now: float) -> int:
    """Return the whole days until the certificate expires; negative afterwards."""
    return (certificate.not_valid_after_utc - datetime.fromtimestamp(now, UTC)).days


def is_current(certificate: x509.Certificate, now: float) -> bool:
    """Return True if *now* is within the certificate's time."""
    moment = datetime.fromtimestamp(int(now), UTC)
    return certificate.not_valid_before_utc < moment < certificate.not_valid_after_utc


# alternative names --------------------------------------------------------------------------------
def extension(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> Any:
    """Return the value of an extension, None without one or if it is malformed."""
    try:
        return certificate.extensions.get_extension_for_oid(oid).value
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError):
        return None


def alternative_names(certificate: x509.Certificate, kind: type[x509.GeneralName]) -> list[Any]:
    """Return the values of the subject's alternative names of one kind."""
    names = extension(certificate, ExtensionOID.SUBJECT_ALTERNATIVE_NAME)
    return [] if names is None else [name for name in names if isinstance(name, kind)]


def dns_names(certificate: x509.Certificate) -> list[str]:
    """Return the host names among the alternative names."""
    return [to_text(name.value.encode()) for name in alternative_names(certificate, x509.DNSName)]


def matches_name(certificate: x509.Certificate, name: str) -> bool:
    """Return True if a host name or a CN of the certificate is *name* (modssl_X509_match_name).

    A first label ``*`` stands for any one label.  IP addresses among the alternative names do not count.
    """
    wanted = lower(name)
    _, dot, rest = wanted.partition(".")
    for identity in map(lower, (*dns_names(certificate), *common_names(certificate.subject))):
        if identity == wanted or (identity.startswith("*.") and dot + rest == identity[1:] != ""):
            return True
    return False


def constraints(certificate: x509.Certificate) -> tuple[bool, int]:
    """Return True for a certificate of an authority, and the length of paths below it, 0 without a limit."""
    found = extension(certificate, ExtensionOID.BASIC_CONSTRAINTS)
    return (False, 0) if found is None else (found.ca, found.path_length or 0)
