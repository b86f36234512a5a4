"""Template marks: text of a configuration that another program replaces before httpd reads it."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.latin1 import to_text

_WORDS: Final = (
    r"@@?[A-Za-z_][\w.-]*@|%(?![0-9A-Fa-f]{2})[A-Za-z_]{2,}%|%\([A-Za-z_]\w*\)s|__[A-Z][A-Z_]+__"
    r"|(?<![%$\\{])\{[A-Z][A-Z_]{2,}\}|#\{[@a-z]|\$\{[\w:]*::"
)
TEMPLATE: Final = re.compile(rf"<%|\{{\{{|\{{%-?[ \t]|\[%|{_WORDS}")
"""Marks of Jinja, ERB, Puppet and Ansible, and words such as @NAME@, %name%, __NAME__ and {NAME}."""
_MARKED: Final = re.compile(
    rf"^\s*(?:<%|\{{\{{|\{{%-?[ \t]|\[%)|<%.*%>|\{{\{{.*\}}\}}|\{{%-?[ \t].*%\}}|\[%.*%\]|{_WORDS}"
)
"""The same in a whole line: brackets are closed in it or begin it, as others may be a part of a pattern."""
_SIGNS: Final = (b"%", b"@", b"{", b"__")
"""Bytes of which every mark has one."""
TEMPLATE_LINE: Final = re.compile(r"^(?:%|\{[{%#])")


def marked_lines(data: bytes) -> list[int]:
    """Return the numbers of the lines with template marks outside of comments.

    Most files have none, so their bytes decide first, then one search.
    """
    if not any(sign in data for sign in _SIGNS):
        return []
    source = to_text(data)
    if not TEMPLATE.search(source):
        return []
    lines = enumerate(source.split("\n"), 1)
    return [number for number, line in lines if not line.lstrip().startswith("#") and _MARKED.search(line)]


def has_mark(data: bytes) -> bool:
    """Return True if *data*, which may be a part of a line, contains a mark."""
    source = to_text(data)
    return TEMPLATE.search(source) is not None or any(
        TEMPLATE_LINE.match(line.lstrip()) for line in source.split("\n")
    )
