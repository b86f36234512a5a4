"""The Digest scheme without state: the Authorization field, nonces, the hashes of RFC 7616 with MD5."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import split
from whimbrel.http.syntax.target import UriParts, split_url
from whimbrel.http.syntax.url import unescape_loose

NONCE_LENGTH: Final = 52
_TIME_LENGTH: Final = 12
_BLANKS: Final = " \t\n\v\f\r"
_RESPONSE_LENGTH: Final = 32  # of MD5 in hexadecimal
_NEEDED: Final = ("username", "realm", "nonce", "uri", "response")


@dataclass(slots=True)
class Credentials:
    """Credentials of a request: the *scheme* ("" without), and Digest's parameters in lower case."""

    scheme: str = ""
    fields: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str | None:
        """Return a parameter, or None."""
        return self.fields.get(name)

    def complete(self, *, lengths: bool) -> bool:
        """Return True if no parameter is missing.

        With *lengths* (2.4) a nonce or a response of the wrong length counts as missing, and a nonce whose
        time does not end as base64.
        """
        if any(name not in self.fields for name in _NEEDED) or (
            "qop" in self.fields and not {"cnonce", "nc"} <= self.fields.keys()
        ):
            return False
        nonce = self.fields["nonce"]
        return not lengths or (
            len(nonce) == NONCE_LENGTH
            and nonce[_TIME_LENGTH - 1] == "="
            and len(self.fields["response"]) == _RESPONSE_LENGTH
        )


def read_credentials(line: str | None) -> Credentials:
    """Parse an Authorization field."""
    if line is None:
        return Credentials()
    parts = split(line, 1)
    scheme = parts[0] if parts else ""
    rest = parts[1] if len(parts) > 1 else ""
    if scheme.lower() != "digest":
        return Credentials(scheme)
    fields: dict[str, str] = {}
    at = 0
    while at < len(rest):
        name, value, at = _parameter(rest, at)
        fields[name.lower()] = value
    return Credentials(scheme, fields)


def _parameter(line: str, at: int) -> tuple[str, str, int]:
    """Return name and value from *at* on, and the start of the next parameter."""
    at = _skip(line, at)
    start = at
    while at < len(line) and line[at] not in "=," and line[at] not in _BLANKS:
        at += 1
    name, at = line[start:at], _skip(line, at)
    value = ""
    if line[at : at + 1] == "=":
        at = _skip(line, at + 1)
        value, at = _quoted(line, at + 1) if line[at : at + 1] == '"' else _token(line, at)
    comma = line.find(",", at)
    return name, value, len(line) if comma < 0 else comma + 1


def _skip(line: str, at: int) -> int:
    while at < len(line) and line[at] in _BLANKS:
        at += 1
    return at


def _token(line: str, at: int) -> tuple[str, int]:
    start = at
    while at < len(line) and line[at] != "," and line[at] not in _BLANKS:
        at += 1
    return line[start:at], at


def _quoted(line: str, at: int) -> tuple[str, int]:
    out: list[str] = []
    while at < len(line) and line[at] != '"':
        if line[at] == "\\" and at + 1 < len(line):
            at += 1
        out.append(line[at])
        at += 1
    return "".join(out), at + 1


# hashes and nonces --------------------------------------------------------------------------------
def md5(value: str) -> str:
    """Return MD5 in hexadecimal."""
    return hashlib.md5(to_bytes(value)).hexdigest()


def response(first: str, given: Credentials, method: str) -> str:
    """Return the response for MD5(user:realm:password) *first*; *method* "" is for rspauth."""
    second = md5(f"{method}:{given.fields['uri']}")
    nonce = given.fields["nonce"]
    qop = given.get("qop")
    if qop is None and method:
        return md5(f"{first}:{nonce}:{second}")
    return md5(f"{first}:{nonce}:{given.get('nc') or ''}:{given.get('cnonce') or ''}:{qop or ''}:{second}")


def make_nonce(secret: bytes, stamp: int, realm: str, opaque: str) -> str:
    """Return a nonce of the time (or serial number) *stamp*, signed with *secret*."""
    return sign(secret, to_text(base64.b64encode(stamp.to_bytes(8, "little", signed=True))), realm, opaque)


def sign(secret: bytes, stamp: str, realm: str, opaque: str) -> str:
    """Return the nonce of an encoded time, with its signature."""
    return stamp + hmac.new(secret, to_bytes(f"{len(realm)}:{realm}:{stamp}:{opaque}"), "sha1").hexdigest()


def stamp_of(nonce: str) -> tuple[str, int]:
    """Return the encoded time of a nonce, and its number (0 if it cannot be decoded)."""
    stamp = nonce[:_TIME_LENGTH]
    try:
        return stamp, int.from_bytes(base64.b64decode(to_bytes(stamp)), "little", signed=True)
    except ValueError:
        return stamp, 0


# the uri ------------------------------------------------------------------------------------------
def split_uri(uri: str) -> UriParts | None:
    """Return the parts of the uri parameter; None if it cannot be parsed."""
    return UriParts(path="*") if uri == "*" else split_url(uri)


def same_uri(sent: UriParts, requested: UriParts, port: int, *, forgive_query: bool) -> bool:
    """Return True if the uri parameter names the target; host and *port* default to the server's."""
    host = unescape_loose(sent.hostname or "")
    if host and host.lower() != (requested.hostname or "").lower():
        return False
    if (sent.port_text and sent.port != port) or (host and not sent.port_text and port != 80):
        return False
    if _plain(sent.path) != _plain(requested.path):
        return False
    query = requested.query if sent.query is None and forgive_query else sent.query
    return _plain(query) == _plain(requested.query)


def _plain(part: str | None) -> str | None:
    return None if part is None else unescape_loose(part)
