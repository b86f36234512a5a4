"""Require, Satisfy, AuthType and AuthName of 2.2's core.

Manual of 2.2: mod/core.html. The modules that implement the words after Require read them with
`requirements`.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import split
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter, Versions
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import set_text, set_value
from whimbrel.registry.module import Provider, Scope
from whimbrel.registry.settings import UNSET

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_METHODS: Final = 64


@dataclass(frozen=True, slots=True)
class Requirement:
    """One Require line.

    Attributes:
        methods: bits of the methods that it applies to
        name: first word in lower case, quotes included
        words: the words after it
        text: what follows the first word, as written
        place: its source location
    """

    methods: int
    name: str
    words: tuple[str, ...]
    place: SourceLocation | None = None
    text: str = ""


def require(cmd: Command, record: CoreDirConfig, words: list[str]) -> None:
    """Add a Require line with the methods of its <Limit>."""
    parts = split(words[0], 1)
    rest = parts[1] if len(parts) > 1 else ""
    line = Requirement(cmd.methods, parts[0] if parts else "", tuple(split_words(rest)), cmd.place, rest)
    record.requires = [*([] if record.requires is UNSET else record.requires), line]


def set_satisfy(cmd: Command, record: CoreDirConfig, words: list[str]) -> None:
    """Set Satisfy, per method."""
    word = words[0].lower()
    if word not in ("all", "any"):
        raise ConfigError("Satisfy either 'any' or 'all'.")
    known = {} if record.satisfy is UNSET else record.satisfy
    record.satisfy = {**known, **{number: word for number in range(_METHODS) if cmd.methods >> number & 1}}


def escape_quotes(text: str) -> str:
    """Escape every double quote that has no backslash before it (ap_escape_quotes)."""
    out = []
    escaped = False
    for char in text:
        if char == '"' and not escaped:
            out.append("\\")
        escaped = char == "\\" and not escaped
        out.append(char)
    return "".join(out)


def satisfies(r: Request) -> str:
    """Return Satisfy for the request's method: "any", "all" or "" (none)."""
    return r.dir_config(CoreDirConfig).satisfy.get(r.method_number, "")


def auth_required(r: Request) -> bool:
    """Return True if a Require line applies to the request's method."""
    return any(line.methods >> r.method_number & 1 for line in r.dir_config(CoreDirConfig).requires)


def requirements(scope: Scope) -> list[Requirement]:
    """Return the Require lines of a merged configuration."""
    return scope.dir_config(CoreDirConfig).requires


def applying(lines: list[Requirement], r: Request) -> Iterator[Requirement]:
    """Iterate over those of *lines* that apply to the request's method."""
    return (line for line in lines if line.methods >> r.method_number & 1)


DIR_SETTERS: Final[dict[str, Setter]] = {
    "AuthType": set_text("auth_type"),
    "AuthName": set_value("auth_name", escape_quotes),
    "Require": require,
    "Satisfy": set_satisfy,
}

PROVIDERS: Final = (
    Provider("access", "satisfies", satisfies, Versions.V22),
    Provider("access", "auth_required", auth_required, Versions.V22),
    Provider("access", "auth_type", lambda r: r.dir_config(CoreDirConfig).auth_type, Versions.V22),
    Provider("access", "auth_name", lambda r: r.dir_config(CoreDirConfig).auth_name, Versions.V22),
)
