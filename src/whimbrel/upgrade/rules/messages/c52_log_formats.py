"""C52: lines of the error log have another format. Document: documents/C52-log-formats.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, lines_for_24


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first ErrorLog: its readers get other lines, unless ErrorLogFormat sets the format."""
    if is_24_config(tree) or any(True for _ in lines_for_24(tree, "errorlogformat")):
        return
    for line in tree.named("errorlog"):
        yield Finding(
            "C52",
            line.place,
            (
                "lines of the error log contain module, process, port and a code in 2.4: [core:error] "
                "[pid 1:tid 2] [client A:P] AH..."
            ),
            "adapt the programs that read the log, or set the format with ErrorLogFormat",
            Risk.COSMETIC,
        )
        break


RULE = Rule("C52", "log-formats", "Lines of the error log look different", check)
