"""C46: Checking users needs mod_authn_core.  Document: documents/C46-user-checks.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import user_checks
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield findings about password files and logins that 2.4 reads differently."""
    yield from user_checks(tree)


RULE = Rule("C46", "user-checks", "Checking users needs mod_authn_core", check)
