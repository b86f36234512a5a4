"""C10: EnableSendfile is Off unless set.  Document: documents/C10-sendfile.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, main_statements


def check(tree: ConfigTree) -> Iterator[Finding]:
    """A configuration that never speaks about it."""
    own = main_statements(tree)
    if own and not is_24_config(tree) and not any(tree.named("enablesendfile")):
        yield Finding(
            "C10",
            own[0].place,
            "EnableSendfile is Off unless set, where 2.2 had it On: the same answers, sent otherwise",
            "write EnableSendfile On if the file system is a local one and it made a difference",
            Risk.COSMETIC,
        )


RULE = Rule("C10", "sendfile", "EnableSendfile is Off unless set", check)
