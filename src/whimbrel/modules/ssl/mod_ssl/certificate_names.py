"""Names of certificates as OpenSSL prints them: RFC 2253, the older form with slashes, single attributes.

Texts have one character per byte, of UTF-8.
"""

from __future__ import annotations

from typing import Any, Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import upper

# OpenSSL's short names by OID
_SHORT_NAMES: Final = {
    "2.5.4.3": "CN",
    "2.5.4.4": "SN",
    "2.5.4.5": "serialNumber",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "street",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.12": "title",
    "2.5.4.13": "description",
    "2.5.4.15": "businessCategory",
    "2.5.4.16": "postalAddress",
    "2.5.4.17": "postalCode",
    "2.5.4.20": "telephoneNumber",
    "2.5.4.41": "name",
    "2.5.4.42": "GN",
    "2.5.4.43": "initials",
    "2.5.4.44": "generationQualifier",
    "2.5.4.45": "x500UniqueIdentifier",
    "2.5.4.46": "dnQualifier",
    "2.5.4.65": "pseudonym",
    "2.5.4.97": "organizationIdentifier",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
    "1.2.840.113549.1.9.1": "emailAddress",
    "1.2.840.113549.1.9.2": "unstructuredName",
    "1.3.6.1.4.1.311.60.2.1.1": "jurisdictionL",
    "1.3.6.1.4.1.311.60.2.1.2": "jurisdictionST",
    "1.3.6.1.4.1.311.60.2.1.3": "jurisdictionC",
    "1.2.643.100.1": "OGRN",
    "1.2.643.100.3": "SNILS",
    "1.2.643.3.131.1.1": "INN",
}
# the attributes that have variables of their own (SSL_CLIENT_S_DN_CN), by the end of their names
ATTRIBUTES: Final = {
    "C": "2.5.4.6",
    "ST": "2.5.4.8",
    "SP": "2.5.4.8",
    "L": "2.5.4.7",
    "O": "2.5.4.10",
    "OU": "2.5.4.11",
    "CN": "2.5.4.3",
    "T": "2.5.4.12",
    "I": "2.5.4.43",
    "G": "2.5.4.42",
    "S": "2.5.4.4",
    "D": "2.5.4.13",
    "UID": "0.9.2342.19200300.100.1.1",
    "Email": "1.2.840.113549.1.9.1",
}
# those of StdEnvVars: SP is another name of ST
EXPORTED: Final = {oid: name for name, oid in ATTRIBUTES.items() if name != "SP"}
_SPECIAL: Final = frozenset(',+"\\<>;')


def text_of(attribute: x509.NameAttribute[Any]) -> str:
    """Return the value of an attribute."""
    value = attribute.value
    return to_text(value.encode("utf-8", "replace") if isinstance(value, str) else value)


def values(name: x509.Name, oid: str) -> list[str]:
    """Return the values of all attributes of one kind, in the order of the certificate."""
    return [text_of(attribute) for attribute in name if attribute.oid.dotted_string == oid]


def common_names(name: x509.Name) -> list[str]:
    """Return the CNs."""
    return values(name, NameOID.COMMON_NAME.dotted_string)


def with_slashes(name: x509.Name) -> str:
    """Return ``/C=XX/CN=NAME`` (X509_NAME_oneline)."""
    return "".join(f"/{_label(attribute)}={_hex_escaped(text_of(attribute))}" for attribute in name)


def _label(attribute: x509.NameAttribute[Any]) -> str:
    oid = attribute.oid.dotted_string
    return _SHORT_NAMES.get(oid, oid)


def _hex_escaped(text: str) -> str:
    return "".join(char if " " <= char <= "~" else f"\\x{ord(char):02X}" for char in text)


def in_rfc_2253(name: x509.Name) -> str:
    """Return ``CN=NAME,C=XX``: the last attribute first, special characters behind backslashes."""
    return ",".join("+".join(map(_pair, rdn)) for rdn in reversed(name.rdns))


def _pair(attribute: x509.NameAttribute[Any]) -> str:
    oid = attribute.oid.dotted_string
    label = _SHORT_NAMES.get(oid)
    if label is None:
        return f"{oid}=#{upper(_der(attribute).hex())}"
    return f"{label}={_escaped(text_of(attribute))}"


def _der(attribute: x509.NameAttribute[Any]) -> bytes:
    value = attribute.value if isinstance(attribute.value, bytes) else attribute.value.encode()
    size = len(value)
    if size < 128:
        length = bytes([size])
    elif size < 256:
        length = b"\x81" + bytes([size])
    else:
        length = b"\x82" + size.to_bytes(2)
    return bytes([attribute._type.value]) + length + value


def _escaped(text: str) -> str:
    out = []
    for at, char in enumerate(text):
        at_end = (at == 0 and char in " #") or (at == len(text) - 1 and char == " ")
        if char in _SPECIAL or at_end:
            out.append(f"\\{char}")
        elif char < " " or char == "\x7f":
            out.append(f"\\{ord(char):02X}")
        else:
            out.append(char)
    return "".join(out)
