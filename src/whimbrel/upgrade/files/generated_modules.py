"""LoadModule lines that SUSE's start script writes from APACHE_MODULES: an edit of them does not last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

_GENERATED: Final = "/sysconfig.d/loadmodule.conf"
_SETTINGS: Final = "/etc/sysconfig/apache2"


def generated_module_findings(tree: ConfigTree, number: str) -> Iterator[Finding]:
    """Yield a finding of the rule *number* once edits have changed the modules of the generated file."""
    lines = [line for line in tree.named("loadmodule") if line.file.path.endswith(_GENERATED)]
    names = [_name(line) for line in lines if len(line.words()) == 2]
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    before = persistent.setdefault("modules of the generated file", (_first_place(lines), names))
    place, old_names = before
    if place is not None and names != old_names:
        changes = [f"+{name}" for name in names if name not in old_names]
        changes += [f"-{name}" for name in old_names if name not in names]
        yield Finding(
            number,
            place,
            f"{place.path} is written at each start from APACHE_MODULES of {_SETTINGS}: the change of it "
            f"({' '.join(changes)}) does not last",
            f'write APACHE_MODULES="{" ".join(names)}" into {_SETTINGS}',
            Risk.BREAKS,
        )


def _first_place(lines: list[Statement]) -> SourceLocation | None:
    return lines[0].place if lines else None


def _name(line: Statement) -> str:
    """Return the word of APACHE_MODULES: the name of a module in the usual directory, else its path."""
    identifier, path = line.words()
    name = identifier.removesuffix("_module")
    return name if path.endswith(f"/apache2/mod_{name}.so") or "/" not in path else path
