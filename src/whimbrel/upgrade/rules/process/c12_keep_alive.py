"""C12: KeepAlive accepts On or Off only. Document: documents/C12-keep-alive.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every other value; 2.2 reads 0 as Off and all others as On."""
    for line in tree.named("keepalive"):
        words = line.words()
        if len(words) == 1 and words[0].lower() not in ("on", "off"):
            meant = "Off" if words[0] == "0" else "On"
            if "${" in line.node.args:
                yield Finding(
                    "C12",
                    line.place,
                    f"KeepAlive accepts On or Off only, and {line.node.args.strip()} is {_shown(words[0])}",
                    (
                        "set the variable to On or Off; 2.2 reads every value but 0 as "
                        f"On{_example(words[0], meant)}"
                    ),
                    Risk.BREAKS,
                )
                continue
            yield Finding(
                "C12",
                line.place,
                f"KeepAlive accepts On or Off only; 2.2 read {words[0]} as {meant}",
                f"write {meant}",
                Risk.BREAKS,
                Safety.SAFE,
                (line.replace_args(meant),),
            )


def _shown(value: str) -> str:
    return "unknown here" if "${" in value else value


def _example(value: str, meant: str) -> str:
    return "" if "${" in value else f", this one as {meant}"


RULE = Rule("C12", "keep-alive", "KeepAlive takes On or Off only", check)
