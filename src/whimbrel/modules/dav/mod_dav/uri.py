"""Absolute URLs in fields of requests (Destination, If), taken apart as apr_uri_parse does."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import is_digits, lower, strtol

_SCHEME = compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
MAX_PORT = 65535


class UriError(ValueError):
    """The text is no URL."""


@dataclass(frozen=True, slots=True)
class Uri:
    """A URL; None or 0 for a part that it does not have, *path* is "" then."""

    scheme: str | None
    host: str | None
    port: int
    path: str
    query: str | None
    fragment: str | None


def parse_uri(text: str) -> Uri:
    """Return the parts of *text*; raise UriError for a port that is no number, or a colon before the first
    slash that ends no scheme.
    """
    scheme = None
    host = None
    port = 0
    found = None if text.startswith("/") else _SCHEME.match(text)
    rest = text
    if found is not None:
        scheme = lower(found[1])
        rest = text[found.end() :]
    elif ":" in text.partition("/")[0]:
        raise UriError(text)
    if found is not None and rest.startswith("//"):
        rest = rest[2:]
        end = min((at for at in map(rest.find, "/?#") if at >= 0), default=len(rest))
        host, port = _authority(rest[:end])
        rest = rest[end:]
    rest, hash_sign, fragment = rest.partition("#")
    path, mark, query = rest.partition("?")
    return Uri(scheme, host, port, path, query if mark else None, fragment if hash_sign else None)


def _authority(text: str) -> tuple[str, int]:
    host = text.rpartition("@")[2]
    end = host.find("]") if host.startswith("[") else -1
    name, colon, digits = host[end + 1 :].partition(":")
    name = host[: end + 1] + name
    if not colon or not digits:
        return name, 0
    if not is_digits(digits):
        raise UriError(text)
    return name, strtol(digits)[0] & MAX_PORT


def path_of(text: str) -> str:
    """Return the path of a URL, "" without one; raise UriError."""
    return parse_uri(text).path
