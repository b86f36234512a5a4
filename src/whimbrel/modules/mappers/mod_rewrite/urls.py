"""URL helpers of rewriting: schemes, their escaping, query strings, replacement of prefixes."""

from __future__ import annotations

from typing import Final

from whimbrel.http.syntax.url import escape_uri

# Scheme -> True if its URLs have query strings.
_SCHEMES: Final = {
    "ajp://": True,
    "balancer://": True,
    "fcgi://": True,
    "ftp://": False,
    "gopher://": False,
    "h2://": True,
    "h2c://": True,
    "http://": True,
    "https://": True,
    "ldap://": False,
    "mailto:": True,
    "news:": False,
    "nntp:": False,
    "scgi://": True,
    "unix:": True,
    "ws://": True,
    "wss://": True,
}
_ONLY_24: Final = frozenset({"fcgi://", "h2://", "h2c://", "unix:", "ws://", "wss://"})
_SCHEMES_22: Final = {
    name: query and name != "scgi://" for name, query in _SCHEMES.items() if name not in _ONLY_24
}
_FIRST_LETTERS: Final = frozenset("abfghlmnsuwABFGHLMNSUW")


def absolute(uri: str, *, version22: bool = False) -> tuple[int, bool]:
    """Return the length of the scheme of *uri*, including slashes, and True if its URLs have query strings.

    (0, True) without a scheme.
    """
    if uri[:1] not in _FIRST_LETTERS:
        return 0, True
    colon = uri.find(":", 0, 9)
    if colon < 0:
        return 0, True
    table = _SCHEMES_22 if version22 else _SCHEMES
    for end in (colon + 3, colon + 1):
        query = table.get(uri[:end].lower())
        if query is not None:
            return end, query
    return 0, True


def escape_absolute(uri: str, scheme: int) -> str:
    """Return *uri* with its path escaped; scheme and host stay, parts of ldap URLs separately."""
    start = scheme
    if uri[scheme - 1] == "/":
        slash = uri.find("/", scheme)
        if slash < 0 or slash + 1 == len(uri):
            return uri
        start = slash + 1
        if uri[:4].lower() == "ldap":
            return uri[:start] + "?".join(map(escape_uri, uri[start:].split("?", 4)))
    return uri[:start] + escape_uri(uri[start:])


def replaced_prefix(text: str, old: str, new: str) -> str:
    """Return *text* with its leading directory *old* replaced by *new*; *text* unchanged without *old*."""
    size = len(old) - 1 if old.endswith("/") else len(old)
    if text[:size] != old[:size] or text[size : size + 1] != "/":
        return text
    rest = text[size + 1 :]
    return (new if not new or new.endswith("/") else new + "/") + rest


_UNSAFE: Final = frozenset(map(chr, [*range(33), 127]))


def has_blank_or_control(text: str) -> bool:
    """Return True if *text* contains a space or a control character (as ap_scan_vchar_obstext)."""
    return not _UNSAFE.isdisjoint(text)
