"""Directive tables whose shapes, contexts, help texts and argument rules are the catalogue's.

A module with many directives gives only the setter and the record of each.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.static_typing import cast
from whimbrel.catalogue.context_rules import CONTEXT_GROUPS
from whimbrel.catalogue.load import DirectiveEntry, catalogue
from whimbrel.directives.command import Command
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Context, Directive, Versions
from whimbrel.modules.support.setters import Setter, not_in


def rows(source: str, setters: Mapping[str, tuple[Setter, ConfigScope]]) -> tuple[AnyDirective, ...]:
    """Return the rows of both versions of the module whose file is *source*, in the order of httpd's tables.

    Each setter runs after the catalogue's rules of its directive.
    """
    return tuple(
        _row(source, entry, versions, *setters[entry.name])
        for version, versions in (("2.4", Versions.V24), ("2.2", Versions.V22))
        for entry in catalogue(version).module_rows(source)
    )


def _row(
    source: str, entry: DirectiveEntry, versions: Versions, setter: Setter, record: ConfigScope
) -> AnyDirective:
    checked = _checked(source, entry.name.lower(), setter)
    forbidden = frozenset[str]().union(*(CONTEXT_GROUPS.get(word, {word}) for word in entry.forbidden_in))
    return Directive(
        name=entry.name,
        args=Args[entry.args],
        where=cast(Context, entry.where),
        apply=not_in(forbidden, checked) if forbidden else checked,
        help=entry.help,
        record=record,
        versions=versions,
    )


def _checked(source: str, name: str, setter: Setter) -> Setter:
    """Return *setter* behind the rules of the directive *name*, which raise ConfigError or warn."""

    def apply(cmd: Command, record: object, words: list[str]) -> None:
        from whimbrel.config.unimplemented import run_rules  # few configurations have these directives
        from whimbrel.modules.support.auth.auth_api import state_of

        run_rules(state_of(cmd), source, name, [words], "2.2" if cmd.dialect.contexts_22 else "2.4")
        setter(cmd, record, words)

    return apply
