"""Setters behind the catalogue's rules of their arguments (`whimbrel.catalogue.checks`)."""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.config.unimplemented import run_rules
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter


def checked(source: str, setters: Mapping[str, Setter]) -> dict[str, Setter]:
    """Return *setters* of the file *source*, each after the catalogue's rules of its directive."""
    return {name: _checked(source, name.lower(), setter) for name, setter in setters.items()}


def _checked(source: str, name: str, setter: Setter) -> Setter:
    """Return *setter* behind the rules of the directive *name*, which raise ConfigError or warn."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        from whimbrel.modules.support.auth.auth_api import state_of

        run_rules(state_of(cmd), source, name, [words], "2.2" if cmd.dialect.contexts_22 else "2.4")
        setter(cmd, record, words)

    return apply
