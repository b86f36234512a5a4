"""C16: Authz...Authoritative is gone.  Document: documents/C16-authz-authoritative.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with Authz...Authoritative and no Order, Allow, Deny."""
    yield from findings_of_rule(tree, "C16")


RULE = Rule("C16", "authz-authoritative", "Authz...Authoritative is gone", check)
