"""Lines of the configuration as server-info shows them: file, line number, directive and its containers."""

from __future__ import annotations

from collections.abc import Sequence

from whimbrel.directives.node import Node
from whimbrel.http.syntax.url import escape_html


class ConfigLines:
    """Writer of directives in HTML; *names* selects some with their containers, None all."""

    def __init__(self, names: frozenset[str] | None) -> None:
        self._names = names
        self._file = ""
        self._out: list[str] = []

    def text(self, nodes: Sequence[Node]) -> str:
        """Return the lines of *nodes* and of their content."""
        self._write(nodes, 0, 0)
        return "".join(self._out)

    def _write(self, nodes: Sequence[Node], shown: int, level: int) -> int:
        """Write *nodes*, which are *level* containers deep; *shown* of these were opened. Return how many are
        open now: a container without children is a directive.
        """
        for node in nodes:
            if node.children:
                if level < self._write(node.children, shown, level + 1):
                    shown = level
                    self._indent(node, 0, level)
                    self._out.append(f"&lt;/{escape_html(node.name[1:])}&gt;</tt></dd>")
            elif self._names is None or node.name.lower() in self._names:
                if shown < level:
                    self._open(node.parent, shown, level - 1)
                    shown = level
                self._indent(node, node.place.line, level)
                self._out.append(f"{escape_html(node.name)} <i>{escape_html(node.args)}</i></tt></dd>\n")
        return shown

    def _open(self, node: Node | None, shown: int, level: int) -> None:
        """Write the containers from level *shown* to *node*, which is at *level*."""
        containers = [node, *node.enclosing()][: level - shown + 1] if node is not None else []
        for depth, container in zip(range(shown, level + 1), reversed(containers), strict=True):
            self._indent(container, container.place.line, depth)
            self._out.append(f"{escape_html(container.name)} {escape_html(container.args)}</tt></dd>\n")

    def _indent(self, node: Node, line: int, level: int) -> None:
        if node.place.path != self._file:
            self._file = node.place.path
            self._out.append(f"<dd><tt><strong>In file: {escape_html(self._file)}</strong></tt></dd>\n")
        number = f"{line or '':>4}".replace(" ", "&nbsp;")
        self._out.append(f"<dd><tt>{number}:&nbsp;{'&nbsp;&nbsp;' * level}")
