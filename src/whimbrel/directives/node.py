"""A configuration directive as httpd keeps it before it is executed: httpd's ap_directive_t."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from whimbrel.errors import Place


@dataclass(slots=True, eq=False)
class Node:
    """One directive with its raw arguments; a container's name begins with ``<`` and its args still end in ``>``."""

    name: str
    args: str
    place: Place
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    def enclosing(self) -> Iterator[Node]:
        """The containers around this directive, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent
