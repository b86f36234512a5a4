"""Setters of numbers as APR reads them, and factories of directive rows."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Any
from whimbrel.directives.command import Command
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.support.setters import Setter

_LARGEST = (1 << 63) - 1


def set_size(field: str, low: int, message: str, high: int = _LARGEST) -> Setter:
    """Return the setter of a number of bytes (apr_strtoff without a check of what follows it), 0 for a word
    without digits; *message* refuses numbers beyond *low* and *high*.
    """

    def apply(_cmd: Command, record: Any, words: list[str]) -> None:
        value = strtol(words[0])[0]
        if not low <= value <= high or value >= _LARGEST:
            raise ConfigError(message)
        setattr(record, field, value)

    return apply


def rows(
    name: str,
    args: Args,
    apply: Setter,
    help: str,
    *,
    record: ConfigScope = ConfigScope.DIRECTORY,
    versions: Versions = Versions.BOTH,
) -> tuple[AnyDirective, ...]:
    """Return the rows of a directive: at server level in 2.2, in sections too in 2.4 if its record is per
    directory.
    """
    if record is not ConfigScope.DIRECTORY:
        where = {Versions.BOTH & versions: Context.RSRC_CONF}
    else:
        where = {
            Versions.V22: Context.RSRC_CONF,
            Versions.V24: Context.RSRC_CONF | Context.ACCESS_CONF,
        }
    return tuple(
        Directive(name=name, args=args, where=place, apply=apply, help=help, record=record, versions=version)
        for version, place in where.items()
        if version & versions
    )
