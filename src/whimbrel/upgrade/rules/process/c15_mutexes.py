"""C15: the directives about locks are gone; Mutex replaces them, and its default fits.

Document: documents/C15-mutexes.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

GONE: Final = {
    "acceptmutex": "mpm-accept",
    "lockfile": "mpm-accept",
    "rewritelock": "rewrite-map",
    "sslmutex": "ssl-cache",
    "sslstaplingmutex": "ssl-stapling",
    "watchdogmutexpath": "watchdog-callback",
}


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Remove every such line: by default 2.4 uses a kind of lock without a file where the system has one."""
    for line in tree.named(*GONE):
        if line.file.role is Role.HTACCESS:
            continue  # an error in both versions
        yield Finding(
            "C15",
            line.place,
            f"{line.node.name} is gone: 2.4 has one directive for all locks, Mutex, and needs none",
            (
                "remove it; if the kind of lock or its directory matters, write one line `Mutex "
                f"KIND[:DIRECTORY] {GONE[line.name]}`"
            ),
            Risk.BREAKS,
            Safety.SAFE,
            replace_statement(tree, line),
        )


RULE = Rule("C15", "mutexes", "One Mutex directive for all locks", check)
