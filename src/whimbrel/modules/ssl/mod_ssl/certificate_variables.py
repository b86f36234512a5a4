"""Variables about certificates: ``SSL_CLIENT_S_DN_CN``, ``SSL_SERVER_V_END`` ... (ssl_engine_vars.c).

Needs the `cryptography` package (extra "tls").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from cryptography import x509

from whimbrel.base.numbers import decimal, is_digits, upper
from whimbrel.engine.tls import TlsSession
from whimbrel.modules.ssl.mod_ssl import certificate_names, certificates
from whimbrel.modules.ssl.mod_ssl.settings import LEGACY_DN, SslDirConfig

if TYPE_CHECKING:
    from datetime import datetime

    from whimbrel.engine.request import Request

MAX_UTC_TIME: Final = 2050  # year from which on a certificate has a GeneralizedTime (RFC 5280, 4.1.2.5)
MAX_DIGITS: Final = 4  # of a number in a name


def _time(moment: datetime, is_24: bool) -> str:
    """Return a time of validity; 2.2 cannot print a GeneralizedTime."""
    return certificates.time_text(moment) if is_24 or moment.year < MAX_UTC_TIME else ""


def value(r: Request, der: bytes, name: str) -> str:
    """Return the variable *name*, without ``SSL_CLIENT_``, of a certificate; "" for an unknown one."""
    certificate = certificates.parse(der)
    is_24 = r.plan.dialect.messages_24
    known = upper(name)
    if known == "M_VERSION":
        return str(certificate.version.value + 1)
    if known == "M_SERIAL":
        return certificates.serial(certificate)
    if known == "V_START":
        return _time(certificate.not_valid_before_utc, is_24)
    if known == "V_END":
        return _time(certificate.not_valid_after_utc, is_24)
    if known == "V_REMAIN":
        if not is_24 and certificate.not_valid_after_utc.year >= MAX_UTC_TIME:
            return "0"
        left = certificates.days_left(certificate, r.engine.runtime.now())
        return str(max(0, left if is_24 else left + 1))
    if known == "A_SIG":
        return certificates.algorithm(certificate.signature_algorithm_oid)
    if known == "A_KEY":
        return certificates.algorithm(certificate.public_key_algorithm_oid)
    if known[1:].startswith("_DN") and known[:1] in ("S", "I"):
        subject = certificate.subject if known[0] == "S" else certificate.issuer
        return distinguished_name(r, subject) if len(known) == 4 else _attribute(subject, name[4:], is_24)
    if is_24 and known.startswith("SAN_"):
        return dict(_alternative_names(certificate)).get(known, "")
    if is_24 and known == "CERT_RFC4523_CEA":
        issuer = certificate_names.in_rfc_2253(certificate.issuer)
        return f'{{ serialNumber {certificate.serial_number}, issuer rdnSequence:"{issuer}" }}'
    return ""


def distinguished_name(r: Request, name: x509.Name) -> str:
    """Return a whole name in the format that the dialect and SSLOptions choose."""
    is_legacy = r.plan.dialect.slash_names or LEGACY_DN in r.dir_config(SslDirConfig).options.options
    return certificate_names.with_slashes(name) if is_legacy else certificate_names.in_rfc_2253(name)


def _attribute(name: x509.Name, text: str, is_24: bool) -> str:
    """Return one attribute: ``_CN``, or ``_OU_1`` for the second of its kind."""
    kind, _, number = text[1:].partition("_")
    if is_24 and upper(number[-3:]) == "RAW":
        number = number[:-3].rstrip("_")
    if is_digits(number) and len(number) <= MAX_DIGITS:
        index = decimal(number)
    elif not number:
        index = 0
    else:
        index = -1
    oid = certificate_names.ATTRIBUTES.get(kind)
    values = [] if oid is None else certificate_names.values(name, oid)
    return values[index] if 0 <= index < len(values) else ""


def _alternative_names(certificate: x509.Certificate) -> Iterator[tuple[str, str]]:
    """Yield the names of a certificate's alternative names as variables, in upper case, and their values."""
    for label, kind in (("EMAIL", x509.RFC822Name), ("DNS", x509.DNSName)):
        for index, name in enumerate(certificates.alternative_names(certificate, kind)):
            yield f"SAN_{label}_{index}", name.value


def exported(tls: TlsSession, *, is_24: bool) -> Iterator[tuple[str, str]]:
    """Yield the attributes of names, and in 2.4 the alternative names, of both certificates."""
    for side, der in (("SERVER", tls.certificate), ("CLIENT", tls.peer_certificate)):
        if not der:
            continue
        certificate = certificates.parse(der)
        for letter, name in (("S", certificate.subject), ("I", certificate.issuer)):
            for label, text in _attributes(name):
                yield f"SSL_{side}_{letter}_DN_{label}", text
        if is_24:
            for label, text in _alternative_names(certificate):
                yield f"SSL_{side}_{label.replace('EMAIL', 'Email')}", text


def _attributes(name: x509.Name) -> Iterator[tuple[str, str]]:
    counts: dict[str, int] = {}
    for attribute in name:
        label = certificate_names.EXPORTED.get(attribute.oid.dotted_string)
        if label is None:
            continue
        count = counts.get(label, -1) + 1
        counts[label] = count
        yield f"{label}_{count}" if count else label, certificate_names.text_of(attribute)
