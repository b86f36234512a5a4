"""R08: a Host field with an underscore is accepted. Document: documents/R08-host-underscores.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield names of virtual hosts with an underscore, which 2.2.34 answers with 400."""
    for line in tree.named("servername", "serveralias"):
        names = [word for word in line.words() if "_" in word and "${" not in word]
        if names:
            yield Finding(
                "R08",
                line.place,
                (
                    f"2.2.34 answers 400 to a Host field with an underscore ({names[0]}); 2.4 serves it "
                    "from this virtual host"
                ),
                "do nothing, unless the name must stay unreachable",
                Risk.COSMETIC,
            )


RULE = Rule("R08", "host-underscores", "A Host field with an underscore is taken", check)
