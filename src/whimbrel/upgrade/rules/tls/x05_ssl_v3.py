"""X05: SSLv3 is gone in most builds of OpenSSL.  Document: documents/X05-ssl-v3.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.tls.protocols import findings_of_protocol
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each line that enables SSLv3."""
    message = "most builds of OpenSSL have no SSLv3 any more, and with those 2.4 does not start"
    yield from findings_of_protocol(tree, "X05", "SSLv3", message, Safety.REVIEW)


RULE = Rule("X05", "ssl-v3", "SSLv3 is gone where OpenSSL has none", check)
