"""Lines with which 2.4 does not start after the upgrade, as findings.

Such lines stand mostly in branches for 2.4, which no rule changes and 2.2 never reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.model import LOAD_ERROR, Finding, Risk
from whimbrel.upgrade.source.config_tree import Statement
from whimbrel.verify.loading import load_side
from whimbrel.verify.side import Side

_MAX_LINES: Final = 10
"""The maximum number of lines that are reported: each needs the configuration to be loaded again."""
_CLIENTS: Final = "write `from all`, an address, a network with a mask of at least one bit, or a host name"
_REMEDIES: Final = {
    "allow": _CLIENTS,
    "deny": _CLIENTS,
    "require": "write a provider that 2.4 has: all, ip, host, env, method, expr, user, group, valid-user",
    "loadmodule": "install the module for 2.4, or remove the line",
}


def load_errors(result: UpgradeResult, side: Side) -> Iterator[Finding]:
    """Yield a finding for each line with which *side*, the upgraded configuration, does not load.

    A line that was found is left out when the configuration is loaded again.
    """
    for _ in range(_MAX_LINES):
        place = side.errors[0].place if side.errors else None
        if place is None:
            return
        yield refusal(result, side.errors[0].text, place)
        without = _without_line(result, side, place)
        if without is None:
            return
        options = replace(side.options, overlay={**side.options.overlay, place.path: without})
        side = load_side(options, side.dialect, name=side.name, origins=False)


def _without_line(result: UpgradeResult, side: Side, place: SourceLocation) -> bytes | None:
    """Return the file of *place* with that line empty; None for a section or an unknown file."""
    file = result.tree.files.get(place.path)
    text = side.options.overlay.get(place.path, b"" if file is None else file.document.bytes)
    lines = text.split(b"\n")
    if not 0 < place.line <= len(lines) or lines[place.line - 1].lstrip()[:1] in (b"", b"<"):
        return None
    lines[place.line - 1] = b""
    return b"\n".join(lines)


def refusal(result: UpgradeResult, text: str, place: SourceLocation) -> Finding:
    """Return the finding about a line of the upgraded text that 2.4 refuses with *text*."""
    line_map = result.line_maps.get(place.path)
    line = line_map.original_line(place.line) if line_map is not None else place.line
    statement = _statement_at(result, place.path, line)
    branch = " of a branch that 2.2 does not read" if statement is not None and not statement.in_22 else ""
    name = statement.name if statement is not None else ""
    return Finding(
        LOAD_ERROR,
        SourceLocation(place.path, line),
        f"2.4 does not start with this line{branch}: {text.splitlines()[-1]}",
        _REMEDIES.get(name, "correct the line for 2.4, or remove it"),
        Risk.BREAKS,
    )


def _statement_at(result: UpgradeResult, path: str, line: int) -> Statement | None:
    """Return the statement of the original text at a line."""
    statements = result.tree.all_statements()
    return next((s for s in statements if s.place.path == path and s.place.line == line), None)
