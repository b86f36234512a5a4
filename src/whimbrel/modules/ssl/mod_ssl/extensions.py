"""Extensions of client certificates as texts: PeerExtList and 2.2's ``in OID(...)``."""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_text
from whimbrel.engine.request import Request
from whimbrel.modules.ssl.mod_ssl.certificates import parse
from whimbrel.modules.ssl.mod_ssl.variables import session_of

# OpenSSL's names of extensions whose values are strings
_NAMES: Final = {
    "nsbaseurl": "2.16.840.1.113730.1.2",
    "nsrevocationurl": "2.16.840.1.113730.1.3",
    "nscarevocationurl": "2.16.840.1.113730.1.4",
    "nsrenewalurl": "2.16.840.1.113730.1.7",
    "nscapolicyurl": "2.16.840.1.113730.1.8",
    "nssslservername": "2.16.840.1.113730.1.12",
    "nscomment": "2.16.840.1.113730.1.13",
}
# tags of ASN.1 strings with their encodings (RFC 5280's DisplayText)
_STRINGS: Final = {12: "utf-8", 22: "latin-1", 26: "latin-1", 30: "utf-16-be"}


def peer_extensions(r: Request, name: str) -> list[str]:
    """Return the values of the extensions *name*, a name of OpenSSL or an OID, that are strings."""
    tls = session_of(r)
    if tls is None or tls.peer_certificate is None:
        return []
    oid = _NAMES.get(name.lower(), name)
    try:
        extensions = list(parse(tls.peer_certificate).extensions)
    except ValueError:
        return []
    values = [string(each.value.public_bytes()) for each in extensions if each.oid.dotted_string == oid]
    return [value for value in values if value is not None]


def string(der: bytes) -> str | None:
    """Return the text of a string in DER; None for any other value."""
    encoding = _STRINGS.get(der[0]) if len(der) > 1 else None
    if encoding is None:
        return None
    length = der[1]
    at = 2
    if length & 0x80:
        count = length & 0x7F
        length = int.from_bytes(der[2 : 2 + count])
        at = 2 + count
    if len(der) != at + length:
        return None
    return to_text(der[at:].decode(encoding, "replace").encode())
