"""Flags of RewriteRule: a table from a flag's names to its effect on the draft of a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import atoi, is_digits
from whimbrel.http.semantics.status import known
from whimbrel.modules.mappers.mod_rewrite.settings import MAX_ROUNDS, Flag


@dataclass(slots=True)
class Draft:
    """A rule while its flags are read; the fields are those of `settings.Rule`."""

    version22: bool = False
    flags: int = Flag.NONE
    status: int = 302
    skip: int = 0
    rounds: int = MAX_ROUNDS
    escapes: str | None = None
    keeps: str | None = None
    forced_type: str | None = None
    forced_handler: str | None = None
    env: list[str] = field(default_factory=list)
    cookies: list[str] = field(default_factory=list)


Setter = Callable[[Draft, str], None]


def _sets(flag: int) -> Setter:
    def apply(draft: Draft, _value: str) -> None:
        draft.flags |= flag

    return apply


def _answers(status: int) -> Setter:
    def apply(draft: Draft, _value: str) -> None:
        draft.flags |= Flag.STATUS | Flag.NO_SUBSTITUTION
        draft.status = status

    return apply


def _escape(draft: Draft, value: str) -> None:
    draft.flags |= Flag.ESCAPE_BACKREF
    if value:
        draft.escapes = value


def _keep(draft: Draft, value: str) -> None:
    if not value:
        raise ConfigError("flag 'BNE' wants a list of characters (i.e. [BNE=...])")
    draft.keeps = value


def _next(draft: Draft, value: str) -> None:
    draft.flags |= Flag.NEXT
    if value:
        draft.rounds = atoi(value)


_NAMED: Final = {"permanent": 301, "temp": 302, "seeother": 303}


def _redirect(draft: Draft, value: str) -> None:
    draft.flags |= Flag.FORCE_REDIRECT
    if not value:
        return
    status = _NAMED.get(value.lower(), 0)
    if not status and is_digits(value[0]):
        status = atoi(value)
        if not known(status, version22=draft.version22):
            raise ConfigError(f"invalid HTTP response code '{value}' for flag 'R'")
        if not 300 <= status < 400:
            draft.flags |= Flag.STATUS | Flag.NO_SUBSTITUTION
    draft.status = status


def _skip(draft: Draft, value: str) -> None:
    draft.skip = atoi(value)


def _type(draft: Draft, value: str) -> None:
    draft.forced_type = value


def _handler(draft: Draft, value: str) -> None:
    draft.forced_handler = value


def _env(draft: Draft, value: str) -> None:
    draft.env.append(value)


def _cookie(draft: Draft, value: str) -> None:
    draft.cookies.append(value)


_ROWS: Final[tuple[tuple[str, Setter], ...]] = (
    ("b", _escape),
    ("c chain", _sets(Flag.CHAIN)),
    ("co cookie", _cookie),
    ("dpi discardpath", _sets(Flag.DISCARD_PATH_INFO)),
    ("e env", _env),
    ("f forbidden", _answers(403)),
    ("g gone", _answers(410)),
    ("h handler", _handler),
    ("l last", _sets(Flag.LAST)),
    ("n next", _next),
    ("nc nocase", _sets(Flag.NO_CASE)),
    ("ne noescape", _sets(Flag.NO_ESCAPE)),
    ("ns nosubreq", _sets(Flag.NOT_ON_SUB)),
    ("p proxy", _sets(Flag.PROXY)),
    ("pt passthrough", _sets(Flag.PASS_THROUGH)),
    ("qsa qsappend", _sets(Flag.APPEND_QUERY)),
    ("r redirect", _redirect),
    ("s skip", _skip),
    ("t type", _type),
)
_ROWS_24: Final[tuple[tuple[str, Setter], ...]] = (
    ("bctls", _sets(Flag.ESCAPE_BACKREF | Flag.ESCAPE_CONTROLS)),
    ("bne", _keep),
    ("bnp", _sets(Flag.ESCAPE_NO_PLUS)),
    ("end", _sets(Flag.END)),
    ("qsd qsdiscard", _sets(Flag.DISCARD_QUERY)),
    ("qsl qslast", _sets(Flag.LAST_QUERY)),
    ("unc", _sets(Flag.UNC)),
    ("unsafeallow3f", _sets(Flag.UNSAFE_3F)),
    ("unsafeprefixstat", _sets(Flag.UNSAFE_PREFIX)),
)


def _table(rows: tuple[tuple[str, Setter], ...]) -> dict[str, Setter]:
    return {name: apply for names, apply in rows for name in names.split()}


FLAGS_22: Final = _table(_ROWS)
FLAGS_24: Final = _table(_ROWS + _ROWS_24)


def read_flags(flags: list[tuple[str, str]], *, version22: bool) -> Draft:
    """Return the draft of a rule with these flags; ConfigError with what follows "RewriteRule: "."""
    table = FLAGS_22 if version22 else FLAGS_24
    draft = Draft(version22)
    for name, value in flags:
        low = name.lower()
        apply = table.get("dpi" if low[:1] == "d" else low)  # httpd compares the D only
        if apply is None:
            raise ConfigError(f"unknown flag '{name}'")
        apply(draft, value)
    return draft
