"""A configuration directive before it is executed: httpd's ap_directive_t."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Node:
    """One directive with its unparsed arguments; a container's name begins with ``<`` and its args end in
    ``>``.

    *spelled* is the name as in the file where *name* is that of the directive's table, "" where both are one.
    Most directives have no children: only a container that is being read has a list of its own.
    """

    name: str
    args: str
    place: SourceLocation
    parent: Node | None = None
    children: Sequence[Node] = ()
    spelled: str = ""
    _within: tuple[str, ...] | None = field(default=None, repr=False)

    def enclosing(self) -> Iterator[Node]:
        """Return the containers around this directive, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def sections(self) -> tuple[str, ...]:
        """Return the names of the containers around this directive, innermost first, each name once: short
        however deep the directive stands.
        """
        outer = self.parent
        if outer is None:
            return ()
        if outer._within is None:
            waiting = [outer]
            while (above := waiting[-1].parent) is not None and above._within is None:
                waiting.append(above)
            for node in reversed(waiting):
                others = (node.parent._within or ()) if node.parent is not None else ()
                node._within = (
                    others
                    if others[:1] == (node.name,)
                    else (node.name, *(name for name in others if name != node.name))
                )
        return outer._within or ()
