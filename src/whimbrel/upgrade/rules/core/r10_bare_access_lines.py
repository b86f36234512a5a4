"""R10: Order, Allow and Deny in a file whose section is in another file.

Document: documents/R10-bare-access-lines.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.staying_lines import sections_around
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.access_compat import needs_access_compat
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first such line of each fragment."""
    seen: dict[str, list[Statement]] = {}
    for line in tree.named("order", "allow", "deny", "satisfy", include_inactive=True):
        if line.file.role is Role.FRAGMENT and not sections_around(line) and needs_access_compat(line):
            seen.setdefault(line.file.path, []).append(line)
    for lines in seen.values():
        first = min(lines, key=lambda line: line.node.number)
        many = f" ({len(lines)} lines)" if len(lines) > 1 else ""
        yield Finding(
            "R10",
            first.place,
            (
                f"{first.node.name} stands outside of any section{many}: the file that includes this "
                "one decides where it applies, and 2.4 has the directive in mod_access_compat only"
            ),
            _advice(lines),
            Risk.BREAKS,
        )


def _advice(lines: list[Statement]) -> str:
    if all(line.name == "deny" for line in lines):
        return (
            "upgrade it together with its main file (-f), or write <RequireAll>, Require all granted, "
            "and a Require not ip line for each address"
        )
    return "upgrade it together with its main file (-f)"


RULE = Rule("R10", "bare-access-lines", "Order, Allow and Deny whose section stands elsewhere", check)
