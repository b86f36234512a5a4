""".htaccess files that no version can read as they are: a request below them gets 500, whatever they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_start
from whimbrel.base.latin1 import to_bytes
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.text_faults import (
    TEMPLATE_ADVICE,
    TEMPLATE_REASON,
    FaultKind,
    template_line,
    text_faults,
)
from whimbrel.verify.config_lines import MAX_HTACCESS, SideLines
from whimbrel.verify.missing_directories import reads_htaccess


def damaged_htaccess(sides: Iterable[SideLines]) -> Iterator[UnknownItem]:
    """Yield an item for each fault of a .htaccess file that a side may read."""
    for lines in sides:
        for scope in lines.scopes:
            if scope.kind != "htaccess" or not reads_htaccess(lines, scope.args):
                continue
            data = lines.side.options.overlay.get(scope.path)
            if data is None:
                try:
                    data = read_start(to_bytes(scope.path), MAX_HTACCESS)
                except OSError:
                    continue
            yield from _items(scope.path, data)


def _items(path: str, data: bytes) -> Iterator[UnknownItem]:
    for fault in text_faults(data):
        consequence = "" if fault.kind is FaultKind.NUL else "httpd answers 500 in this directory"
        place = SourceLocation(path, fault.line)
        yield UnknownItem(UnknownKind.NOT_READ, place, fault.reason, consequence, fault.advice)
    template = template_line(data)
    if template:
        place = SourceLocation(path, template)
        consequence = "the text that httpd would read is not here"
        yield UnknownItem(UnknownKind.NOT_READ, place, TEMPLATE_REASON, consequence, TEMPLATE_ADVICE)
