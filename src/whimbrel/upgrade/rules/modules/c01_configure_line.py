"""C01: the configure line of the old server.  Document: documents/C01-configure-line.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.files.config_nice import translate
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_24_config, main_statements


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield findings about build/config.nice below the ServerRoot; it is not edited, because it belongs to
    the build."""
    if not main_statements(tree) or is_24_config(tree):
        return
    path = f"{tree.root}/build/config.nice"
    try:
        source = to_text(read_regular(to_bytes(path)))
    except OSError:
        return
    for finding in translate(source, path).findings:
        yield replace(finding, risk=Risk.COSMETIC, safety=Safety.MANUAL)


RULE = Rule("C01", "configure-line", "The configure line, build/config.nice", check)
