"""C07: MaxRequestsPerChild has a new name. Document: documents/C07-max-requests-per-child.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line with the old name; the new one means the same."""
    if tree.options.also_22:
        return
    for line in tree.named("maxrequestsperchild"):
        yield Finding(
            "C07",
            line.place,
            "MaxRequestsPerChild is called MaxConnectionsPerChild; 2.4 still accepts the old name",
            f"the bound of {line.args.strip()} stays",
            Risk.COSMETIC,
            Safety.SAFE,
            (line.rename("MaxConnectionsPerChild"),),
        )


RULE = Rule("C07", "max-requests-per-child", "MaxRequestsPerChild is MaxConnectionsPerChild", check)
