"""Probe: one request as data, with the facts about its client that a configuration can depend on."""

from __future__ import annotations

import base64
import re
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.printable import HIDDEN

RIGHT_PASSWORD: Final = "the password of this user"
"""The password that an engine of probes accepts for every user that its files know."""
WRONG_PASSWORD: Final = "another password"
CREDENTIALS: Final = ("authorization", "proxy-authorization")
"""Fields with secrets, in lower case."""
COMMON_SCHEMES: Final = ("basic", "digest")
"""Schemes of `ProbeUser` that need no words: a client that has the password uses them."""
_MIN_SECRET: Final = 4
"""Characters of a secret that is hidden within words too; the shortest credentials of Basic have four."""
_PORT: Final = re.compile(r":\d*\Z")


@dataclass(frozen=True, slots=True)
class ProbeUser:
    """The credentials of a probe.

    Attributes:
        scheme: "basic", or one of digest_user: these answer a challenge, which takes a request before.
        is_password_valid: the password is that of the user, whatever the files store.
        is_assumed: users named so exist, also where no file has them; the user is then a member of *groups*
            and of no others.
        has_file_groups: the user is a member of the groups that the files name too.
        has_file_users: the password files that can be read have all of their users, an assumed one as well.
    """

    name: str
    scheme: str = "basic"
    is_password_valid: bool = True
    is_assumed: bool = False
    groups: tuple[str, ...] = ()
    has_file_groups: bool = False
    has_file_users: bool = False

    def __str__(self) -> str:
        groups = f" in {', '.join(self.groups)}" if self.groups else ""
        scheme = f" by {self.scheme}" if self.scheme not in COMMON_SCHEMES else ""
        return f"{self.name}{groups}{scheme}" + ("" if self.is_password_valid else " with a wrong password")

    def authorization(self) -> str:
        """Return the value of the Authorization field."""
        secret = RIGHT_PASSWORD if self.is_password_valid else WRONG_PASSWORD
        return "Basic " + base64.b64encode(to_bytes(f"{self.name}:{secret}")).decode("ascii")


@dataclass(frozen=True, slots=True)
class TlsFacts:
    """The TLS session of a probe.

    Attributes:
        server_name: the name that the client indicates (SNI), "" without one.
        version: the newest one that the client has.
        cipher: of TLS 1.3. `older_cipher`: of the versions before.
        peer_certificate: the certificate (DER) that the client shows where it is asked for one, b"" without
            one; it counts as verified.
    """

    server_name: str = ""
    version: str = "TLSv1.3"
    cipher: str = "TLS_AES_256_GCM_SHA384"
    older_cipher: str = "ECDHE-RSA-AES256-GCM-SHA384"
    bits: int = 256
    peer_certificate: bytes = b""


def _field_text(name: str, value: str) -> str:
    """Return a field as texts show it: of credentials the scheme and the user, never the secret."""
    if name.lower() not in CREDENTIALS:
        return f"{name}: {value}"
    scheme, _, token = value.partition(" ")
    user = user_of_token(token) if scheme.lower() == "basic" else ""
    return f"{name}: {scheme} of {user}" if user else f"{name}: {scheme} {HIDDEN}"


def user_of_token(token: str) -> str:
    """Return the user of the credentials of Basic, "" if they are none."""
    try:
        return to_text(base64.b64decode(token, validate=True)).partition(":")[0]
    except ValueError:
        return ""


def secrets_of(probe: Probe) -> re.Pattern[str] | None:
    """Return what no output may have of *probe*, None for nothing: credentials as sent, and decoded ones of
    Basic, with any characters escaped as in a URL, once or several times.
    """
    found = []
    for name, value in probe.fields:
        if name.lower() in CREDENTIALS:
            token = value.partition(" ")[2].strip() or value
            found += [token, *(_decoded(token) if user_of_token(token) else ())]
    texts = sorted(filter(None, (text.rstrip("=") for text in found)), key=len, reverse=True)
    return re.compile("|".join(map(_escaped_anyhow, texts))) if texts else None


def _escaped_anyhow(text: str) -> str:
    """Return an expression for *text* and its forms in URLs; the padding of base64 may be missing."""
    parts = []
    for char in text:
        forms = [re.escape(char), f"(?i:%(?:25)*{ord(char):02x})", *((r"\+",) if char == " " else ())]
        parts.append(char if char.isascii() and char.isalnum() else f"(?:{'|'.join(forms)})")
    found = f"{''.join(parts)}(?:=|%(?:25)*3[dD])*"
    return found if len(text) >= _MIN_SECRET else rf"(?<!\w){found}(?!\w)"


def _decoded(token: str) -> tuple[str, ...]:
    return (to_text(base64.b64decode(token)),)


@dataclass(frozen=True, slots=True)
class Probe:
    """One request; texts have one character per byte.

    Attributes:
        target: the request target as sent, with its query.
        host: the Host field, "" for none.
        address, port: the address of the server that the client connects to.
        client: the client's address.
        client_host: the name that a reverse lookup of *client* gives, confirmed; "" for none.
        fields: header fields besides Host and Authorization.
        environment: variables that are set before all modules run, as pairs of name and value.
    """

    target: str = "/"
    method: str = "GET"
    host: str = ""
    address: str = "127.0.0.1"
    port: int = 80
    client: str = "192.0.2.1"
    client_host: str = ""
    user: ProbeUser | None = None
    fields: tuple[tuple[str, str], ...] = ()
    tls: TlsFacts | None = None
    environment: tuple[tuple[str, str], ...] = ()
    protocol: str = "HTTP/1.1"

    def __str__(self) -> str:
        return f"{self.method} {self.url} from {self.client_text}{self._host_text}"

    @property
    def url(self) -> str:
        """Return the URL of the place that the client connects to, with the port unless it is the scheme's.

        It has the name of the Host field. A client of this URL sends the Host field of the probe, unless that
        is `other_host`.
        """
        scheme, default = ("https", 443) if self.tls is not None else ("http", 80)
        name = _PORT.sub("", self.host) or self.address
        return f"{scheme}://{name}" + (f":{self.port}" if self.port != default else "") + self.target

    @property
    def request_text(self) -> str:
        """Return the method and the URL, with the Host field where it is not the one of the URL."""
        return f"{self.method} {self.url}{self._host_text}"

    @property
    def other_host(self) -> str:
        """The Host field if it is not the one of `url`, else "" (RFC 9110, section 7.2)."""
        authority = self.url.partition("://")[2].removesuffix(self.target)
        return self.host if self.host != authority else ""

    @property
    def _host_text(self) -> str:
        return f", Host: {self.other_host}" if self.other_host else ""

    @property
    def client_text(self) -> str:
        """Return the address with the facts about the client that an answer can depend on."""
        text = f"{self.client} ({self.client_host})" if self.client_host else self.client
        text += f" as {self.user}" if self.user is not None else ""
        text += "".join(f", {_field_text(name, value)}" for name, value in self.fields)
        return text + "".join(f", with {name} set" for name, _ in self.environment)

    def head(self) -> bytes:
        """Return the request head."""
        fields = [("Host", self.host)] if self.host else []
        if self.user is not None and self.user.scheme == "basic":
            fields.append(("Authorization", self.user.authorization()))
        if self.method not in ("GET", "HEAD", "OPTIONS", "TRACE"):
            fields.append(("Content-Length", "0"))
        lines = "".join(f"{name}: {value}\r\n" for name, value in (*fields, *self.fields))
        return to_bytes(f"{self.method} {self.target} {self.protocol}\r\n{lines}\r\n")
