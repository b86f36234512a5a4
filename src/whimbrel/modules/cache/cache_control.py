"""Cache-Control and Pragma as mod_cache reads them (RFC 9111, 5.2), and their form in stored entries."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower, strip, strtol
from whimbrel.base.static_typing import Final
from whimbrel.http.semantics.headers import Headers

# Bits of httpd's cache_control_t, from the lowest.
FLAGS: Final = (
    "parsed",
    "cache_control",
    "pragma",
    "no_cache",
    "no_cache_header",
    "no_store",
    "max_age",
    "max_stale",
    "min_fresh",
    "no_transform",
    "only_if_cached",
    "public",
    "private",
    "private_header",
    "must_revalidate",
    "proxy_revalidate",
    "s_maxage",
    "invalidated",
)
_TOKEN_CHARACTERS: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")
_LAYOUT: Final = struct.Struct("<I4x4q")
SIZE: Final = _LAYOUT.size
_LARGEST: Final = (1 << 63) - 1
_PLAIN: Final = {  # directives without argument, by name, with their flags
    "no-store": "no_store",
    "no-transform": "no_transform",
    "must-revalidate": "must_revalidate",
    "only-if-cached": "only_if_cached",
    "public": "public",
    "proxy-revalidate": "proxy_revalidate",
}
_NUMBERS: Final = {"max-age": "max_age", "min-fresh": "min_fresh", "s-maxage": "s_maxage"}


@dataclass(slots=True)
class CacheControl:
    """The directives of one message.

    Attributes:
        no_cache, private: the directive without field names; `no_cache_header`, `private_header`: with them.
        max_age_value, ...: seconds; -1 without the directive.
        invalidated: an unsafe request made the stored response stale.
    """

    parsed: bool = True
    cache_control: bool = False
    pragma: bool = False
    no_cache: bool = False
    no_cache_header: bool = False
    no_store: bool = False
    max_age: bool = False
    max_stale: bool = False
    min_fresh: bool = False
    no_transform: bool = False
    only_if_cached: bool = False
    public: bool = False
    private: bool = False
    private_header: bool = False
    must_revalidate: bool = False
    proxy_revalidate: bool = False
    s_maxage: bool = False
    invalidated: bool = False
    max_age_value: int = -1
    max_stale_value: int = -1
    min_fresh_value: int = -1
    s_maxage_value: int = -1

    def forbid(self, other: CacheControl) -> None:
        """Add the directives of *other* that keep a response out of a cache, or from being reused."""
        self.no_store = self.no_store or other.no_store
        self.private = self.private or other.private
        self.private_header = self.private_header or other.private_header
        self.no_cache = self.no_cache or other.no_cache
        self.no_cache_header = self.no_cache_header or other.no_cache_header

    def pack(self) -> bytes:
        """Return httpd's cache_control_t on a 64-bit little-endian machine."""
        bits = sum(1 << bit for bit, name in enumerate(FLAGS) if getattr(self, name))
        return _LAYOUT.pack(
            bits, self.max_age_value, self.max_stale_value, self.min_fresh_value, self.s_maxage_value
        )

    @classmethod
    def unpack(cls, data: bytes) -> CacheControl:
        """Return what `pack` stored in *data*, which has `SIZE` bytes."""
        bits, max_age, max_stale, min_fresh, s_maxage = _LAYOUT.unpack(data)
        flags = {name: bool(bits >> bit & 1) for bit, name in enumerate(FLAGS)}
        return cls(
            **flags,
            max_age_value=max_age,
            max_stale_value=max_stale,
            min_fresh_value=min_fresh,
            s_maxage_value=s_maxage,
        )


def parse(cache_control: str | None, pragma: str | None) -> CacheControl:
    """Return the directives of the two fields."""
    control = CacheControl(cache_control=cache_control is not None, pragma=pragma is not None)
    for name, _ in members(pragma or ""):
        if lower(name) == "no-cache":
            control.no_cache = True
    for name, argument in members(cache_control or ""):
        _set(control, lower(name), argument)
    return control


def _set(control: CacheControl, name: str, argument: str | None) -> None:
    if name in ("no-cache", "private"):
        flag = name.replace("-", "_")
        setattr(control, flag if argument is None else f"{flag}_header", True)
    elif name in _PLAIN and argument is None:
        setattr(control, _PLAIN[name], True)
    elif name == "max-stale" and argument is None:
        control.max_stale = True
        control.max_stale_value = -1
    elif name == "max-stale" or (name in _NUMBERS and argument is not None):
        value = _number(argument or "")
        flag = _NUMBERS.get(name, "max_stale")
        if value is not None:
            setattr(control, flag, True)
            setattr(control, f"{flag}_value", value)


def _number(text: str) -> int | None:
    """Return a number as apr_strtoff reads all of *text*, which may be quoted (RFC 9111, 5.2); None for other
    text and beyond 64 bits.
    """
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    value, rest = strtol(text)
    return None if not text or rest or not -_LARGEST - 1 < value < _LARGEST else value


def vary_names(value: str | None) -> list[str] | None:
    """Return the names of fields that Vary lists, in lower case and sorted; None for one that no stored
    response satisfies: ``*``, or what is no list of names (RFC 9111, 4.1).
    """
    names = vary_members(value)
    if any(name == "*" or not _TOKEN_CHARACTERS.issuperset(name) for name in names):
        return None
    return names


def vary_members(value: str | None) -> list[str]:
    """Return the members of a Vary field in lower case, sorted (ap_get_list_item)."""
    return sorted(lower(name) for word in (value or "").split(",") if (name := strip(word)))


def members(text: str, separators: str = ", \t") -> Iterator[tuple[str, str | None]]:
    """Yield name and argument of each token: httpd ends one at a comma or blank outside of quotes, and takes
    any other text as it is (cache_strqtok).
    """
    start = 0
    at = 0
    quoted = False
    while start <= len(text):
        if at >= len(text) or (not quoted and text[at] in separators):
            if at > start:
                name, equals, argument = text[start:at].partition("=")
                yield name, argument if equals else None
            start = at + 1
        elif text[at] == '"':
            quoted = not quoted
        elif quoted and text[at] == "\\":
            at += 1
        at += 1


def remove_named_fields(fields: Headers) -> None:
    """Remove the fields that ``no-cache="..."`` and ``private="..."`` name (RFC 9111, 5.2.2.4)."""
    for name, argument in list(members(fields.get_list("Cache-Control") or "")):
        if argument is not None and lower(name) in ("no-cache", "private"):
            for field, _ in members(argument, ', \t"'):
                fields.unset(field)
