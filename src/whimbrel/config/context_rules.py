"""The context of a directive, in the terms of the catalogue's rules."""

from __future__ import annotations

from whimbrel.catalogue.context_rules import DirectiveContext
from whimbrel.directives.command import Command


def not_allowed(name: str, section: str | None) -> str:
    """Return the message for a directive outside its context; 2.4 names the section around it.

    A directive that is executed on reading has no section yet.
    """
    return f"{name} not allowed here" if section is None else f"{name} not allowed in {section}> context"


def context_of(command: Command) -> DirectiveContext:
    """Return the context of *command*.  A directive that is executed on reading has no sections around it
    yet.
    """
    parent = command.node.parent
    known = parent is not None and command.within(parent.name) is not None
    sections = command.node.sections() if known else ()
    return DirectiveContext(
        sections,
        command.methods != -1,
        bool(command.path) or command.in_htaccess,
        command.in_virtual_host,
        command.in_htaccess,
    )
