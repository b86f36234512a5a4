""".htaccess files that no version can read as they are: a request below them gets 500, whatever they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.knowledge.scope import UnknownItem, UnknownKind
from whimbrel.upgrade.source.text_faults import FaultKind, faults_and_template
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.overrides import Overrides

_CONSEQUENCES: Final[Mapping[FaultKind, str]] = {
    FaultKind.NUL: "",
    FaultKind.TEMPLATE: "the text that httpd would read is not here",
}


def damaged_htaccess(sides: Iterable[SideLines]) -> Iterator[UnknownItem]:
    """Yield an item for each fault of a .htaccess file that a side may read."""
    for lines in sides:
        overrides = Overrides(lines)
        for scope in lines.scopes:
            if scope.kind != "htaccess" or not overrides.may_read(scope.args):
                continue
            for fault in faults_and_template(lines.htaccess_text(scope.path) or b""):
                place = SourceLocation(scope.path, fault.line)
                consequence = _CONSEQUENCES.get(fault.kind, "httpd answers 500 in this directory")
                yield UnknownItem(UnknownKind.NOT_READ, place, fault.reason, consequence, fault.advice)
