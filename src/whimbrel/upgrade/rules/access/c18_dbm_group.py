"""C18: Require group of mod_authz_dbm is Require dbm-group.  Document: documents/C18-dbm-group.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections whose groups are in a DBM file."""
    yield from findings_of_rule(tree, "C18")


RULE = Rule("C18", "dbm-group", "Require group of mod_authz_dbm is Require dbm-group", check)
