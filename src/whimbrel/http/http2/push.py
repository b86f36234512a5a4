"""Server push without sockets: resources that Link fields name, the policy of a client, and the diary.

RFC 9113, 8.4; RFC 8288; manual: mod/mod_http2.html (H2Push, H2PushDiarySize).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from whimbrel.base.lazy_re import compile
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.fields import has_token
from whimbrel.http.syntax.target import split_url

MAX_DIARY: Final = 1 << 15  # entries of a diary; H2PushDiarySize allows no more
NONE: Final = "none"  # the policy of a client that wants no pushes
_POLICIES: Final = ("fast-load", "head", "default", NONE)  # of Accept-Push-Policy, in httpd's order
_COPIED: Final = frozenset(("user-agent", "accept", "accept-encoding", "accept-language", "cache-control"))

# mod_http2 reads a link-value as far as it understands it; a quote that is not closed is skipped.
_TARGET = compile(r"[ \t]*<([^>]*)>")
_PARAMETER = compile(
    r"[ \t]*;[ \t]*([!#$&+\-.^_`|~0-9A-Za-z]+)"
    r"(?:[ \t]*=(?:[ \t]*\"([^\"]*)\"|[ \t]*\"?[ \t]*([!#$&'()*+\-./:<=>?@\[\]^_`{|}~0-9A-Za-z]*)))?"
)
_NEXT = compile(r"[ \t]*(?:;[ \t]*)?,")
_AUTHORITY = compile(r"//([^/?#]*)")


class Candidate(NamedTuple):
    """A resource to push: the path of its request; *is_critical*: its body goes out before the response's."""

    path: str
    is_critical: bool


def policy(accepted: str | None) -> str:
    """Return the push policy of a request from its Accept-Push-Policy field."""
    if accepted is None:
        return "default"
    return next((name for name in _POLICIES if has_token(accepted, name)), "default")


def links(value: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield target and parameters (names in lower case) of each link of a Link field."""
    at = 0
    while (target := _TARGET.match(value, at)) is not None:
        at = target.end()
        parameters = dict[str, str]()
        while (found := _PARAMETER.match(value, at)) is not None:
            at = found.end()
            name, quoted, word = found.groups()
            parameters[name.lower()] = quoted if quoted is not None else word or ""
        yield target[1], parameters
        more = _NEXT.match(value, at)
        if more is None:
            return
        at = more.end()


def candidates(values: Iterable[str], scheme: str, authority: str) -> Iterator[Candidate]:
    """Yield the resources of this origin that the Link fields *values* preload, except those with nopush."""
    for value in values:
        for target, parameters in links(value):
            if "preload" not in parameters.get("rel", "").split(" ") or "nopush" in parameters:
                continue
            path = _local_path(target, scheme, authority)
            if path is not None:
                yield Candidate(path, "critical" in parameters)


def _local_path(target: str, scheme: str, authority: str) -> str | None:
    """Return path, query and fragment of a target of the same scheme and authority, else None."""
    parts = split_url(target)
    if parts is None or parts.path is None or parts.scheme not in (None, scheme):
        return None
    start = 0 if parts.scheme is None else len(parts.scheme) + 1
    if target.startswith("//", start):
        named = _AUTHORITY.match(target, start)
        if named is None or named[1] != authority:
            return None
        start = named.end()
    return target[start:]


def request_fields(head: Headers, authority: str) -> Headers:
    """Return the fields of a promised request: those that *head*, the client's request, shares with it."""
    pairs = [pair for pair in head.items() if pair[0].lower() in _COPIED]
    return Headers([*pairs, ("Host", authority)])


class PushDiary:
    """Resources that were pushed on one connection.

    Cache: digest of a URL (8 bytes) to None; valid as long as the connection; bound *size* entries, raised to
    a power of two, at most `MAX_DIARY`; the entry that was named longest ago is evicted. Size 0: no diary.
    """

    def __init__(self, size: int) -> None:
        self._size = min(1 << (max(2, size) - 1).bit_length(), MAX_DIARY) if size > 0 else 0
        self._seen: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._seen)

    def is_new(self, scheme: str, authority: str, path: str) -> bool:
        """Return True for a resource that is not in the diary, and enter it."""
        if not self._size:
            return True
        seen = self._seen
        key = sha256(f"{scheme}://{authority}{path}".encode("latin-1")).digest()[:8]
        known = key in seen
        if known:
            del seen[key]
        elif len(seen) >= self._size:
            del seen[next(iter(seen))]
        seen[key] = None
        return not known
