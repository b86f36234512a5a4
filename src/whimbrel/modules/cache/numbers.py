"""Setters of numbers as APR reads them."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import strtol
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter

_LARGEST = (1 << 63) - 1


def set_size(field: str, low: int, message: str, high: int = _LARGEST) -> Setter:
    """Return the setter of a number of bytes (apr_strtoff without a check of what follows it), 0 for a word
    without digits; *message* refuses numbers beyond *low* and *high*.
    """

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value = strtol(words[0])[0]
        if not low <= value <= high or value >= _LARGEST:
            raise ConfigError(message)
        setattr(record, field, value)

    return apply
