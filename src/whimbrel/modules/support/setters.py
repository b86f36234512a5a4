"""Setters that many directives share: httpd's ap_set_*_slot functions, and its check of where a directive stands.

A setter is called with the command, the record that its directive names and the words; it raises ConfigError with httpd's own wording.
`outside(...)` wraps a setter with ap_check_cmd_context; `set_...("field")` make setters that fill one field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, strtol
from whimbrel.catalogue.context_rules import CONTEXT_GROUPS, message, violated
from whimbrel.config.context_rules import context_of
from whimbrel.directives.command import Command

Setter = Callable[[Command, Any, list[str]], None]


Places = frozenset[str]


class Forbidden:
    """Where a directive must not stand: httpd's NOT_IN_* bits as sets of the names that `catalogue.places` has for them."""

    NOTHING: Final[Places] = frozenset()
    VIRTUALHOST: Final[Places] = frozenset({"VIRTUALHOST"})
    LIMIT: Final[Places] = frozenset({"LIMIT"})
    DIRECTORY: Final[Places] = frozenset({"DIRECTORY"})
    LOCATION: Final[Places] = frozenset({"LOCATION"})
    FILES: Final[Places] = frozenset({"FILES"})
    HTACCESS: Final[Places] = frozenset({"HTACCESS"})
    PROXY: Final[Places] = frozenset({"PROXY"})
    DIR_LOC_FILE: Final[Places] = DIRECTORY | LOCATION | FILES
    DIR_CONTEXT: Final[Places] = CONTEXT_GROUPS["DIR_CONTEXT"]
    GLOBAL_ONLY: Final[Places] = CONTEXT_GROUPS["GLOBAL_ONLY"]


def check_context(cmd: Command, forbidden: Places) -> None:
    """Refuse the command where *forbidden* says (ap_check_cmd_context)."""
    if (
        not cmd.path
        and cmd.methods == -1
        and not cmd.in_htaccess
        and not (cmd.in_virtual_host and "VIRTUALHOST" in forbidden)
    ):
        return  # at server level, as most directives are
    found = violated(forbidden, context_of(cmd), "2.2" if cmd.dialect.contexts_22 else "2.4")
    if found:
        raise ConfigError(message(cmd.name, found))


def not_in(forbidden: Places, setter: Setter) -> Setter:
    """*setter*, refused where *forbidden* says."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        check_context(cmd, forbidden)
        setter(cmd, record, words)

    return apply


def global_only(setter: Setter) -> Setter:
    """*setter*, for the main server's level alone."""
    return not_in(Forbidden.GLOBAL_ONLY, setter)


def not_in_limit22(setter: Setter) -> Setter:
    """*setter*, refused inside <Limit> by 2.2 (2.4 looks at the context before)."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        if cmd.dialect.contexts_22:
            check_context(cmd, Forbidden.LIMIT)
        setter(cmd, record, words)

    return apply


def set_flag(name: str) -> Setter:
    """On or Off into a bool field."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, words[0].lower() == "on")

    return apply


def set_text(name: str) -> Setter:
    """The first word into a field, as written (ap_set_string_slot)."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, words[0])

    return apply


def set_lower(name: str) -> Setter:
    """The first word into a field, in lower case (ap_set_string_slot_lower)."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, words[0].lower())

    return apply


def set_path(name: str) -> Setter:
    """A path, taken from the server root (ap_set_file_slot)."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, cmd.server_path(words[0]))

    return apply


def set_int(name: str) -> Setter:
    """A whole number as ap_set_int_slot reads it: decimal, octal or hexadecimal, nothing behind it."""

    def apply(cmd: Command, record: Any, words: list[str]) -> None:
        value = strtol(words[0], 0)
        if value is None:
            raise ConfigError(f"Invalid value for directive {cmd.name}, expected integer")
        setattr(record, name, value)

    return apply


def set_number(name: str) -> Setter:
    """Whatever C's atoi makes of the word: leading digits, 0 for none."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, atoi(words[0]))

    return apply


def set_choice(name: str, choices: dict[str, Any], reason: str) -> Setter:
    """One of *choices* (lower case compared) into a field; *reason* is the message for any other word."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        word = words[0].lower()
        if word not in choices:
            raise ConfigError(reason)
        setattr(record, name, choices[word])

    return apply


def ignored(_cmd: Command, _record: Any, _words: list[str]) -> None:
    """For directives whose effect belongs to httpd's own process model: accepted, without an effect here."""


def add_text(name: str) -> Setter:
    """Each word added to a list field."""

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        setattr(record, name, [*own(record, name, list), *words])

    return apply


def own(record: Any, name: str, empty: Callable[[], Any]) -> Any:
    """The value of a field as this record itself sets it, *empty()* where it doesn't."""
    value = getattr(record, name)
    return value if type(value) is type(empty()) else empty()


_TIME = compile(r"(?:[ \t\n\v\f\r]*([+-]?\d+))?(.*)", re.ASCII | re.DOTALL)
_MICROSECONDS = {"s": 1_000_000, "h": 3_600_000_000, "ms": 1000, "mi": 60_000_000}


def timeout(text: str, default_unit: str = "s") -> int | None:
    """A time such as ``5``, ``500ms``, ``2min``, ``1h`` in microseconds; None where ap_timeout_parameter_parse refuses it.

    Units are in lower case and only their first letters count; a unit alone is none of it, negative times are refused.
    """
    found = _TIME.match(text)
    assert found is not None
    unit = found[2] or default_unit
    factor = _MICROSECONDS.get(unit[0] if unit[0] in "sh" else unit[:2])
    value = strtol(found[1] or "0")[0] * factor if text and factor else 1 << 63
    return value if 0 <= value < 1 << 63 else None
