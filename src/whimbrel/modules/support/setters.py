"""Setters shared by many directives: httpd's ap_set_*_slot functions, and its check of contexts.

A setter is called with the command, the record of its directive and the arguments; it raises ConfigError with
httpd's own text.  `set_...("field")` return setters of one field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, strtol
from whimbrel.base.static_typing import Any, Final
from whimbrel.catalogue.checks.numbers import LONG_MAX
from whimbrel.catalogue.checks.numbers import strtol as strtol_checked
from whimbrel.catalogue.context_rules import CONTEXT_GROUPS, Places
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter

ON_OFF: Final = {"on": True, "off": False}


class Forbidden:
    """Contexts that forbid a directive, httpd's NOT_IN_*: names of `catalogue.context_rules`."""

    LIMIT: Final[Places] = frozenset({"LIMIT"})
    DIRECTORY: Final[Places] = frozenset({"DIRECTORY"})
    LOCATION: Final[Places] = frozenset({"LOCATION"})
    FILES: Final[Places] = frozenset({"FILES"})
    HTACCESS: Final[Places] = frozenset({"HTACCESS"})
    DIR_LOC_FILE: Final[Places] = DIRECTORY | LOCATION | FILES
    DIR_CONTEXT: Final[Places] = CONTEXT_GROUPS["DIR_CONTEXT"]
    GLOBAL_ONLY: Final[Places] = CONTEXT_GROUPS["GLOBAL_ONLY"]


def by_version(setter_22: Setter, setter_24: Setter) -> Setter:
    """Return the setter of a directive that each version executes in its own way."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        (setter_22 if cmd.dialect.contexts_22 else setter_24)(cmd, record, words)

    return apply


def set_flag(name: str) -> Setter:
    """Return the setter of On or Off into a bool field."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, words[0].lower() == "on")

    return apply


def set_text(name: str) -> Setter:
    """Return the setter of the first argument into a field, as written (ap_set_string_slot)."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, words[0])

    return apply


def set_lower(name: str) -> Setter:
    """Return the setter of the first argument into a field, in lower case (ap_set_string_slot_lower)."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, words[0].lower())

    return apply


def set_path(name: str) -> Setter:
    """Return the setter of a path, resolved against the server root (ap_set_file_slot)."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, cmd.server_path(words[0]))

    return apply


def set_number(name: str) -> Setter:
    """Return the setter of a number as C's atoi reads it: leading digits, 0 for none."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, atoi(words[0]))

    return apply


def set_value(name: str, read: Callable[[str], Any]) -> Setter:
    """Return the setter of what *read* makes of the first argument."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, read(words[0]))

    return apply


def set_read(name: str, read: Callable[[Command, str], Any]) -> Setter:
    """Return the setter of what *read* makes of the first argument; it needs the command for that."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, read(cmd, words[0]))

    return apply


def set_choice(name: str, choices: dict[str, Any] | tuple[str, ...], reason: str) -> Setter:
    """Return the setter of one of *choices*, compared in lower case; *name* "" stores nothing.

    *reason* is the message for any other argument; ``{word}`` in it stands for that, ``{name}`` for the
    directive.
    """
    values = choices if isinstance(choices, dict) else {word: word for word in choices}

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        word = words[0].lower()
        if word not in values:
            raise ConfigError(reason.replace("{name}", cmd.name).replace("{word}", words[0]))
        if name:
            setattr(record, name, values[word])

    return apply


def refused(reason: str) -> Setter:
    """Return the setter of a directive that httpd refuses with *reason*, whatever its arguments."""

    def apply(_cmd: Command, _record: object, _words: list[str]) -> None:
        raise ConfigError(reason)

    return apply


def of_main(kind: type[Any], setter: Setter) -> Setter:
    """Return *setter* for the record *kind* of the main server, wherever the directive stands."""

    def apply(cmd: Command, _record: object, words: list[str]) -> None:
        setter(cmd, cmd.main_server(kind), words)

    return apply


def ignored(_cmd: Command, _record: object, _words: list[str]) -> None:
    """Accept a directive that configures httpd's own process model; it has no effect here."""


def add_text(name: str) -> Setter:
    """Return the setter that appends each argument to a list field."""
    return add_values(name, lambda _cmd, words: words)


def add_values(name: str, read: Callable[[Command, list[str]], Iterable[Any]]) -> Setter:
    """Return the setter that appends to a list field what *read* makes of the arguments."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        setattr(record, name, [*own(record, name, list), *read(cmd, words)])

    return apply


def set_entry(name: str) -> Setter:
    """Return the setter of an entry of a dictionary field: its key, then its value, "" without one."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value = words[1] if len(words) > 1 else ""
        setattr(record, name, {**own(record, name, dict), words[0]: value})

    return apply


def own(record: object, name: str, empty: Callable[[], Any]) -> Any:
    """Return the value of a field that this record itself sets; *empty()* if it does not."""
    value = getattr(record, name)
    return value if type(value) is type(empty()) else empty()


_TIME = compile(r"(?:[ \t\n\v\f\r]*([+-]?\d+))?(.*)", re.ASCII | re.DOTALL)
_MICROSECONDS = {"s": 1_000_000, "h": 3_600_000_000, "ms": 1000, "mi": 60_000_000}


def timeout(text: str, default_unit: str = "s") -> int | None:
    """Parse a time such as ``5``, ``500ms``, ``2min``, ``1h`` to microseconds; None where
    ap_timeout_parameter_parse refuses it.

    Units are in lower case and only their first letters count.  A unit alone and a negative time are refused.
    """
    match = _TIME.match(text)
    assert match is not None
    unit = match[2] or default_unit
    factor = _MICROSECONDS.get(unit[0] if unit[0] in "sh" else unit[:2])
    value = strtol(match[1] or "0")[0] * factor if text and factor else 1 << 63
    return value if 0 <= value < 1 << 63 else None


def set_in_range(name: str, low: int, high: int | None, message: str) -> Setter:
    """Return the setter of a number (atoi) from *low* to *high* (None: any); *message* is the refusal of any
    other, ``{name}`` and ``{word}`` in it as in `set_choice`; *name* "" stores nothing.
    """

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        value = atoi(words[0])
        if value < low or (high is not None and value > high):
            raise ConfigError(message.replace("{name}", cmd.name).replace("{word}", words[0]))
        if name:
            setattr(record, name, value)

    return apply


def set_size(name: str, low: int, message: str, high: int = LONG_MAX, *, must_end: bool = False) -> Setter:
    """Return the setter of a number of bytes (apr_strtoff), 0 for a word without digits; *message* refuses
    numbers out of range; *must_end*: nothing may follow the digits.
    """

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value, rest, is_cut = strtol_checked(words[0])
        if is_cut or not low <= value <= high or (must_end and rest):
            raise ConfigError(message)
        setattr(record, name, value)

    return apply
