"""What a chain of sections decides about a client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whimbrel.access.decision import Decision, Space
from whimbrel.access.layers import Layer, Line
from whimbrel.dialect import Dialect


@dataclass(frozen=True, eq=False)
class World:
    """What a decision depends on besides the sections.

    *modules* are LoadModule's identifiers in load order, with or without ``_module`` (2.2 asks its authorization modules in that order); what the
    recorded binaries have built in is always there.  *root* is the server root.  *readable* (absolute path of a password or group file) says
    whether the server can read it; None, not known, counts as readable.  *aliases* are the <AuthnProviderAlias> and <AuthzProviderAlias> containers.
    """

    modules: tuple[str, ...]
    root: str = "/"
    readable: Callable[[str], bool | None] = lambda _path: None
    aliases: tuple[Line, ...] = ()


def decide(chain: Sequence[Layer], dialect: Dialect, world: World, space: Space) -> Decision:
    """The decision of *chain*, which is in httpd's order of merging, outermost first.  Raises ConfigError where the server wouldn't start."""
    raise NotImplementedError
