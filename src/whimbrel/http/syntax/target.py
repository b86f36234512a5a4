"""Request targets and other URLs taken apart (RFC 3986, with APR's reading of what the RFC leaves open)."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Final

_SCHEME = compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_AUTHORITY = compile(r"[^/?#]*")
_LEADING_SLASHES = compile(r"/+(?=/)")
_PORT = compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+")
_DEFAULT_PORTS: Final = {
    "ftp": 21,
    "ssh": 22,
    "telnet": 23,
    "gopher": 70,
    "http": 80,
    "https": 443,
    "nntp": 119,
    "snews": 563,
    "imap": 143,
    "pop": 110,
    "sip": 5060,
    "rtsp": 554,
    "wais": 210,
    "z39.50r": 210,
    "z39.50s": 210,
    "prospero": 191,
    "nfs": 2049,
    "tip": 3372,
    "acap": 674,
    "ldap": 389,
}


@dataclass(frozen=True, slots=True)
class UriParts:
    """The parts of a URL, None if absent; *hostname* without brackets, *port_text* as written."""

    scheme: str | None = None
    user: str | None = None
    password: str | None = None
    hostname: str | None = None
    port_text: str | None = None
    port: int = 0
    path: str | None = None
    query: str | None = None
    fragment: str | None = None


def default_port(scheme: str | None) -> int:
    """Return the port a scheme stands for, 0 when unknown."""
    return _DEFAULT_PORTS.get((scheme or "").lower(), 0)


def split_target(target: str, method: str) -> UriParts | None:
    """Return a target, None if unreadable; CONNECT takes ``host:port``; leading slashes are one."""
    if method == "CONNECT":
        return split_hostinfo(target)
    return split_url(_LEADING_SLASHES.sub("", target, count=1) if target.startswith("//") else target)


def split_url(url: str) -> UriParts | None:
    """Split any URL; None for a bad port, an unclosed bracket, a colon in a relative first segment."""
    parts, is_complete = read_url(url)
    return parts if is_complete else None


def read_url(url: str) -> tuple[UriParts, bool]:
    """Return the parts of a URL, and False if `split_url` refuses it; the parts end at the fault then."""
    match = _SCHEME.match(url)
    scheme = match[0][:-1] if match else None
    rest = url[len(match[0]) :] if match else url
    if not rest.startswith("//"):
        if scheme is None and ":" in url.partition("/")[0]:
            return UriParts(), False
        return UriParts(scheme, None, None, None, None, 0, *_path_parts(rest)), True
    found = _AUTHORITY.match(rest, 2)
    authority = found[0] if found else ""
    userinfo, at, host = authority.rpartition("@")
    user, colon, password = userinfo.partition(":")
    hostname, port_text = _host_and_port(host)
    port = default_port(scheme) if port_text == "" else strtol(port_text or "")[0] & 0xFFFF
    is_complete = hostname is not None and (not port_text or _PORT.fullmatch(port_text) is not None)
    parts = UriParts(
        scheme,
        user if at else None,
        password if colon else None,
        hostname,
        port_text,
        port,
        *(_path_parts(rest[2 + len(authority) :]) if is_complete else ()),
    )
    return parts, is_complete


def split_hostinfo(text: str) -> UriParts | None:
    """Split ``host:port``; None for any other text."""
    hostname, port_text = _host_and_port(text)
    if hostname is None or not port_text or _PORT.fullmatch(port_text) is None or "/" in text:
        return None
    return UriParts(hostname=hostname, port_text=port_text, port=strtol(port_text)[0] & 0xFFFF)


def _host_and_port(host: str) -> tuple[str | None, str | None]:
    if host.startswith("["):
        end = host.find("]")
        if end < 0:
            return None, None
        return host[1:end] if host[end + 1 : end + 2] == ":" else host[1:-1], host[end + 2 :] if host[
            end + 1 : end + 2
        ] == ":" else None
    name, colon, port_text = host.partition(":")
    return name, port_text if colon else None


def _path_parts(rest: str) -> tuple[str | None, str | None, str | None]:
    rest, hash_sign, fragment = rest.partition("#")
    path, question, query = rest.partition("?")
    return path or None, query if question else None, fragment if hash_sign else None


def unsplit(target: UriParts, *, reveal_password: bool = False, without_query: bool = False) -> str:
    """Return the URL as text, with a password as ``XXXXXXXX`` (as in the access log) and without the scheme's
    default port.  *without_query*: without query and fragment.
    """
    site = ""
    if target.user is not None or target.password is not None:
        secret = "" if target.password is None else ":" + (target.password if reveal_password else "XXXXXXXX")
        site = f"{target.user or ''}{secret}@"
    if target.hostname is not None:
        host = f"[{target.hostname}]" if ":" in target.hostname else target.hostname
        is_default = not target.port_text or target.port in (0, default_port(target.scheme))
        scheme = f"{target.scheme}:" if target.scheme else ""
        port = "" if is_default else f":{target.port_text}"
        site = f"{scheme}//{site}{host}{port}"
    elif target.scheme is not None:
        site = f"{target.scheme}:{site}"
    if without_query:
        return f"{site}{target.path or ''}"
    query = "" if target.query is None else "?" + target.query
    return f"{site}{target.path or ''}{query}{'' if target.fragment is None else '#' + target.fragment}"
