"""Heads of requests to HTTP back ends (ap_proxy_create_hdrbrgd, terminate_headers)."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import split
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.http.client.request_writer import UnsafeRequest
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.support.reverse_dns import client_address
from whimbrel.modules.support.tokens import connection_names
from whimbrel.registry.phases import REVERSE_PROXY

HOP_BY_HOP: Final = ("Keep-Alive", "Upgrade", "Trailer", "TE")
CONDITIONS: Final = ("If-Match", "If-Modified-Since", "If-Range", "If-Unmodified-Since", "If-None-Match")
CHAIN_AUTH: Final = "Proxy-Chain-Auth"
_FRAMING: Final = ("Transfer-Encoding", "Content-Length")
_MODULE: Final = "proxy_http"
_LINE: Final = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]++ [^\x00-\x20\x7f]++").fullmatch
_FIELDS: Final = re.compile(r"(?:[-!#$%&'*+.^_`|~0-9A-Za-z]++: [^\x00\r\n]*+\r\n)*").fullmatch


def clear_connection(fields: Headers, *, version22: bool) -> None:
    """Remove Connection, Proxy-Connection and the fields named there (ap_proxy_clear_connection)."""
    entries = fields.entries()
    if "proxy-connection" in entries:
        fields.unset("Proxy-Connection")
    if "connection" not in entries:
        return
    names = connection_names(fields, version22=version22)
    fields.unset("Connection")
    for name in names:
        fields.unset(name)


def via_value(r: Request, mode: str) -> str:
    """Return the value that this server adds to Via (ProxyVia)."""
    name = identity.server_name(r)
    if name == r.hostname:
        name = r.server.name or r.engine.main.name
    port = identity.server_port(r)
    shown = "" if port == identity.DEFAULT_PORTS.get(identity.scheme(r), 80) else f":{port}"
    comment = f" ({identity.FULL.partition(' ')[0]})" if mode == "full" else ""
    return f"{r.proto[0]}.{r.proto[1]} {name}{shown}{comment}"


def forwarded_fields(call: ProxyCall, host_field: str, *, expects: bool, version22: bool) -> Headers:
    """Return the fields of the request to the back end, Host first; without framing and Connection."""
    r = call.r
    dir_conf = call.dir_conf
    fields = Headers()
    fields.extend(r.headers_in.entries().values())
    own_host = fields.get("Host")
    for name in _FRAMING:
        fields.unset(name)
    clear_connection(fields, version22=version22)
    for name in HOP_BY_HOP:
        fields.unset(name)
    host = host_field
    if dir_conf.preserve_host:
        host = own_host if own_host is not None else _forced_host(r)
    fields.unset("Host")
    mode = call.conf.via
    if mode == "block":
        fields.unset("Via")
    elif mode != "off":
        fields.merge("Via", via_value(r, mode))
    _expectation(fields, expects=expects, version22=version22)
    if dir_conf.add_headers and r.proxy == REVERSE_PROXY:
        fields.merge("X-Forwarded-For", r.connection.client_ip if version22 else client_address(r))
        if own_host is not None:
            fields.merge("X-Forwarded-Host", own_host)
        fields.merge("X-Forwarded-Server", r.server.name or r.engine.main.name)
    if r.user is not None and CHAIN_AUTH not in r.env:
        fields.unset("Proxy-Authorization")
    if r.main is not None:
        for name in CONDITIONS:
            fields.unset(name)
    if call.proxy is not None and call.proxy.credentials:
        fields.merge("Proxy-Authorization", basic(call.proxy.credentials))
    complete = Headers([("Host", host)])
    complete.extend(fields.entries().values())
    return complete


def basic(credentials: str) -> str:
    """Return *credentials*, ``user:password``, as the value of Proxy-Authorization."""
    return "Basic " + b64encode(to_bytes(credentials)).decode("ascii")


def _forced_host(r: Request) -> str:
    name = r.server.name or r.engine.main.name
    text = (
        "no HTTP 0.9 request (with no host line) on incoming request and preserve host set forcing hostname "
        f"to be {name} for uri {r.uri}"
    )
    r.log("warn", text if r.plan.dialect.messages_24 else f"proxy: {text}", code="AH01092", module="proxy")
    return name


def _expectation(fields: Headers, *, expects: bool, version22: bool) -> None:
    """Add Expect for a body that waits for the back end; 2.4 removes it from every other request."""
    if expects:
        words = split((fields.get_list("Expect") or "").lower().replace(",", " "))
        if "100-continue" not in words:
            fields.merge("Expect", "100-Continue")
    elif not version22:
        fields.unset("Expect")


def field_lines(fields: Headers) -> bytes:
    """Return the lines of *fields*; raise UnsafeRequest for a field that is none."""
    pairs = fields.entries().values()
    lines = "".join([f"{name}: {value}\r\n" for name, value in pairs])
    if _FIELDS(lines) is None or lines.count("\n") != len(pairs):
        raise UnsafeRequest("malformed field")
    return to_bytes(lines)


def request_line(method: str, target: str, version: str) -> bytes:
    """Return the request line; raise UnsafeRequest if a part would not stay one."""
    line = f"{method} {target}"
    if _LINE(line) is None:
        raise UnsafeRequest("malformed request line")
    return to_bytes(f"{line} HTTP/{version}\r\n")
