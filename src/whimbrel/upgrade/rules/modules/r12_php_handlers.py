"""R12: handlers that one version of PHP has alone. Document: documents/R12-php-handlers.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.php import COMMON, OF_ONE_VERSION
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the AddHandler and SetHandler lines with such a handler, unless an Action runs it."""
    actions = {word.lower() for line in tree.named("action") for word in line.words()[:1]}
    for line in tree.named("addhandler", "sethandler"):
        name = next(iter(line.words()), "")
        if OF_ONE_VERSION.fullmatch(name) and name.lower() not in actions:
            yield Finding(
                "R12",
                line.place,
                f"only one version of PHP has the handler {name}: with another one, 2.4 sends the source "
                "text of these scripts to every client",
                f"write {COMMON}, which PHP 5, 7 and 8 have",
                Risk.OPENS,
                Safety.SAFE,
                (line.replace_args(OF_ONE_VERSION.sub(COMMON, line.node.args, count=1)),),
            )


RULE = Rule("R12", "php-handlers", "Handlers that one version of PHP has alone", check)
