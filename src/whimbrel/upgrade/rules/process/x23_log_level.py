"""X23: LogLevel may differ between modules, and debug logs far more. Document: documents/X23-log-level.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield LogLevel debug for all modules."""
    for line in tree.named("loglevel"):
        if line.args.strip().strip('"').lower() == "debug":
            yield Finding(
                "X23",
                line.place,
                "at LogLevel debug every module of 2.4 logs several lines for each request",
                "name the module, as in `LogLevel warn ssl:debug`",
                Risk.COSMETIC,
            )


RULE = Rule("X23", "log-level", "LogLevel for single modules", check)
