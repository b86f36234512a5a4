"""From what a user knows about a request (URL, address, user) to a probe of a configuration."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from whimbrel.base.extras import not_installed
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.base.printable import printable_line, without_user
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server
from whimbrel.verify.digest_user import DIGEST, OLD_DIGEST
from whimbrel.verify.probe import Probe, ProbeUser, TlsFacts
from whimbrel.verify.request_words import WITHOUT_QOP
from whimbrel.verify.tls_ports import takes_tls

CLIENT: Final = "192.0.2.1"  # an address for documentation (RFC 5737): in no configured network
LOCAL: Final = "127.0.0.1"
_HAS_PORT: Final = re.compile(r":\d*\Z")
WILDCARDS: Final = ("*", "_default_", "", "0.0.0.0", "::")


BASIC: Final = "basic"
SCHEMES: Final = {DIGEST: DIGEST, WITHOUT_QOP: OLD_DIGEST}
"""Values of --auth, with the schemes of `ProbeUser`."""


class BadRequest(ValueError):
    """What was given does not describe a request."""


@dataclass(frozen=True, slots=True)
class RequestDescription:
    """A request as a user gives it; "" and 0 stand for what was not given.

    Attributes:
        host: the Host field as it stands; that of the URL if it is empty.
        client: address. `address`: of the server.
        user: NAME, or NAME:PASSWORD; that of the URL if it is empty.
        fields: header fields.
        certificate: the client's certificate, see `client_certificates`; TLS is then implied.
        client_host: the name of the client's address.
        auth: how the user authenticates: digest or digest-without-qop; "" as the server asks for.
    """

    url: str
    host: str = ""
    client: str = ""
    address: str = ""
    user: str = ""
    method: str = "GET"
    fields: tuple[tuple[str, str], ...] = ()
    tls: bool = False
    certificate: str = ""
    client_host: str = ""
    auth: str = ""


def probe_of(
    described: RequestDescription, configuration: Configuration | None, *, has_file_users: bool = False
) -> Probe:
    """Return the probe; the address of a virtual host without wildcard, and the port of the only listener,
    are found in *configuration*.  Raises BadRequest.

    The Host field has a port where the URL names one that is not its scheme's (RFC 9110, section 7.2). A path
    alone stands for the URL that reaches the main server.
    """
    has_scheme = "://" in described.url
    try:
        parts = urlsplit(described.url if has_scheme else f"//{described.host}{_rooted(described.url)}")
        name = parts.hostname or ""
        port = parts.port or 0
    except ValueError as problem:
        raise BadRequest(f"{_shown(described.url)}: {problem}") from None
    if parts.scheme not in ("", "http", "https"):
        raise BadRequest(f"{_shown(described.url)}: not a URL of http or https")
    target = described.url.partition("://")[2] if has_scheme else _rooted(described.url)
    if has_scheme:
        slash = re.search(r"[/?#]", target)
        target = _rooted(target[slash.start() :] if slash else "/")
    target = target.partition("#")[0]
    if re.search(r"[\s\x00-\x1f\x7f]", target):
        raise BadRequest(f"{_shown(described.url)}: a URL contains no blanks; write %20")
    is_tls = described.tls or parts.scheme == "https" or bool(described.certificate)
    address, found_port = place_of(configuration, _HAS_PORT.sub("", described.host) or name, is_tls)
    if has_scheme and not port:
        port = _port_of(configuration, is_tls, found_port)
    port = port or found_port
    if not has_scheme and configuration is not None:
        is_tls = is_tls or takes_tls(configuration, described.address or address, port)
    host = described.host or _host_of(parts.netloc if has_scheme else "", is_tls)
    if not host and configuration is not None:
        host = configuration.main.name or "localhost"
        host = host if port == default_port(is_tls) or _HAS_PORT.search(host) else f"{host}:{port}"
    fields = described.fields
    if described.auth and described.auth not in SCHEMES:
        raise BadRequest(f"--auth {_shown(described.auth)}: neither {' nor '.join(SCHEMES)}")
    given = described.user or unquote(parts.netloc.rpartition("@")[0], "latin-1")
    user = None
    if ":" in given:
        credentials = b64encode(to_bytes(given)).decode("ascii")
        fields = (("Authorization", f"Basic {credentials}"), *fields)
    elif given:
        user = ProbeUser(
            given,
            SCHEMES.get(described.auth, BASIC),
            is_assumed=True,
            has_file_groups=True,
            has_file_users=has_file_users,
        )
    return Probe(
        target,
        described.method,
        host,
        described.address or address,
        port,
        described.client or CLIENT,
        described.client_host,
        user=user,
        fields=fields,
        tls=(
            TlsFacts(lower(name or host), peer_certificate=_certificate(described.certificate))
            if is_tls
            else None
        ),
    )


def _shown(url: str) -> str:
    """Return *url* for a message."""
    return printable_line(without_user(url))


def _host_of(authority: str, is_tls: bool) -> str:
    """Return the Host field of a client of a URL with *authority*, which leaves out the scheme's port."""
    return authority.rpartition("@")[2].removesuffix(f":{default_port(is_tls)}")


def default_port(is_tls: bool) -> int:
    """Return the port of the scheme."""
    return 443 if is_tls else 80


def origin_of(configuration: Configuration | None, host: str, port: int, is_tls: bool) -> str:
    """Return the scheme, *host* and the port of a URL of it; port 0: where *configuration* listens for it."""
    address, found = place_of(configuration, host, is_tls)
    port = port or found
    is_tls = is_tls or (configuration is not None and takes_tls(configuration, address, port))
    scheme = "https" if is_tls else "http"
    return f"{scheme}://{host}" + (f":{port}" if port != default_port(is_tls) else "")


def _port_of(configuration: Configuration | None, is_tls: bool, found: int) -> int:
    """Return the port of a URL without one: that of its scheme, unless the server only listens elsewhere."""
    default = default_port(is_tls)
    listeners = configuration.spec.listeners if configuration is not None else ()
    return default if not listeners or any(one.port == default for one in listeners) else found


def _certificate(text: str) -> bytes:
    """Return the client's certificate, b"" without one; raises BadRequest."""
    if not text:
        return b""
    try:
        from whimbrel.explain.client_certificates import client_certificate
    except ImportError:
        raise BadRequest(not_installed("--client-cert", "tls")) from None
    try:
        return client_certificate(text)
    except (ValueError, OSError) as problem:
        raise BadRequest(
            f"--client-cert {text}: neither a subject such as CN=robin,O=Lab nor a certificate in PEM"
            f" ({problem})"
        ) from None


def _rooted(path: str) -> str:
    return path if path[:1] in ("/", "*") else f"/{path}"


def place_of(
    configuration: Configuration | None, host: str, is_tls: bool, hosts: Mapping[str, Server] | None = None
) -> tuple[str, int]:
    """Return the address and port on which a server is found for *host*: those of its <VirtualHost> if they
    are no wildcards, else the loopback address and a port that is listened on. *hosts*: `host_table`.
    """
    default = default_port(is_tls)
    if configuration is None:
        return LOCAL, default
    ports = [listener.port for listener in configuration.spec.listeners]
    port = default if default in ports or not ports else ports[0]
    server = (host_table(configuration) if hosts is None else hosts).get(lower(host))
    for address in server.addresses if server is not None else ():
        fits = address.port in (0, port) or not is_tls
        if fits and address.host not in WILDCARDS:
            return address.host, address.port or port
        if fits and address.port and address.port not in (port, 443 if not is_tls else 80):
            port = address.port
    return LOCAL, port


def host_table(configuration: Configuration) -> dict[str, Server]:
    """Return the virtual hosts by their names in lower case, the first of each name."""
    table: dict[str, Server] = {}
    for server in configuration.virtual_hosts:
        for name in (server.name, *server.names):
            table.setdefault(lower(name), server)
    return table
