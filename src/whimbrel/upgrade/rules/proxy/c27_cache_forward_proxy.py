"""C27: CacheEnable with a path does not cache the responses of a forward proxy.

Document: documents/C27-cache-forward-proxy.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import server_of


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield cached paths of a server that is a forward proxy."""
    forward = {server_of(line) for line in tree.named("proxyrequests") if _on(line)}
    for line in tree.named("cacheenable"):
        words = line.words()
        if len(words) > 1 and words[1].startswith("/") and forward & {server_of(line), None}:
            yield Finding(
                "C27",
                line.place,
                (
                    f"CacheEnable {words[0]} {words[1]} applies to the server's own content in 2.4, not to "
                    "that of the forward proxy"
                ),
                (
                    "name the servers whose content shall be cached, with scheme, name and port: "
                    "CacheEnable disk http://www.example.com:80/"
                ),
                Risk.CHANGES,
            )


def _on(line: Statement) -> bool:
    return [word.lower() for word in line.words()[:1]] == ["on"]


RULE = Rule("C27", "cache-forward-proxy", "CacheEnable / is not about a forward proxy's content", check)
