"""C42: SSLv2 is gone.  Document: documents/C42-ssl-v2.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.tls.protocols import findings_of_protocol
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each line that enables SSLv2."""
    yield from findings_of_protocol(
        tree, "C42", "SSLv2", "SSLv2 is no longer supported: 2.4 does not start with it", Safety.SAFE
    )


RULE = Rule("C42", "ssl-v2", "SSLv2 is gone", check)
