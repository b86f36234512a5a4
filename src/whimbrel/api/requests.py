"""Request: a request of the public API, as a user describes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

CLIENT: Final = "192.0.2.1"
"""An address for documentation (RFC 5737), in no configured network."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request; "" stands for what is not given.

    Attributes:
        url: a path, or a whole URL, whose scheme, host and port then count.
        client: the client's address.
        host: the Host field. The default is that of the URL, or ServerName.
        user: authenticated by Basic with *password*; without one the user is assumed to exist, and to have
            given the right one.
        headers: further header fields.
        address: of the server. The default is that of the virtual host.
        tls: the connection uses TLS, as for a URL of https.
    """

    url: str
    method: str = "GET"
    client: str = CLIENT
    host: str = ""
    user: str = ""
    password: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = ""
    tls: bool = False
