"""C10: EnableSendfile is Off unless set.  Document: documents/C10-sendfile.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, main_statements


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for a configuration without EnableSendfile."""
    statements = main_statements(tree)
    if statements and not is_24_config(tree) and not any(tree.named("enablesendfile")):
        yield Finding(
            "C10",
            statements[0].place,
            "EnableSendfile is Off unless set; in 2.2 it was On. The responses are the same",
            ("write EnableSendfile On if the files are on a local file system and sendfile is faster there"),
            Risk.COSMETIC,
        )


RULE = Rule("C10", "sendfile", "EnableSendfile is Off unless set", check)
