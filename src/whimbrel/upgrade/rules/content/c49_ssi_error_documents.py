"""C49: error documents in several languages need the SSI conditions of 2.2.

Document: documents/C49-ssi-error-documents.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.content.ssi import findings_of_conditions
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each directory of error documents with SSI."""
    yield from findings_of_conditions(tree, "C49")


RULE = Rule(
    "C49", "ssi-error-documents", "Error documents in several languages need the old SSI conditions", check
)
