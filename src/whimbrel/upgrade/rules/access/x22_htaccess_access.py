"""X22: .htaccess files need all of this too.  Document: documents/X22-htaccess-access.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.refused_htaccess import htaccess_findings
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each .htaccess file that one version refuses and the other reads."""
    yield from htaccess_findings(tree)


RULE = Rule("X22", "htaccess-access", ".htaccess files need all of this too", check)
