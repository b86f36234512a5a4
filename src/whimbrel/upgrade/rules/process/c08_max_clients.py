"""C08: MaxClients has a new name. Document: documents/C08-max-clients.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every line with the old name."""
    if tree.options.also_22:
        return
    for line in tree.named("maxclients"):
        yield Finding(
            "C08",
            line.place,
            "MaxClients is called MaxRequestWorkers; 2.4 still accepts the old name",
            f"the bound of {line.args.strip()} stays",
            Risk.COSMETIC,
            Safety.SAFE,
            (line.rename("MaxRequestWorkers"),),
            (
                "It bounds the processes (prefork) or threads (worker, event) that handle requests. "
                "Under event more clients may be connected, see AsyncRequestWorkerFactor."
            ),
        )


RULE = Rule("C08", "max-clients", "MaxClients is MaxRequestWorkers", check)
