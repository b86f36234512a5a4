"""C04: modules that 2.2 had compiled in need LoadModule lines.  Document: documents/C04-compiled-in.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.files.needed_modules import missing_module_findings
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import main_statements


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every module that is used without being loaded, and a finding if the modules in the 2.2 binary
    are assumed."""
    statements = main_statements(tree)
    if statements and tree.built_in.assumed:
        yield Finding(
            "C04",
            statements[0].place,
            (
                "the text does not show which modules the 2.2 binary has compiled in: "
                f"{tree.built_in.origin} is assumed"
            ),
            ("compare with the output of `httpd -l` of the old server, or pass it with --builtin FILE"),
            Risk.CHANGES,
            decision=f"Has the 2.2 binary the modules of {tree.built_in.origin} compiled in?",
            answers=(
                "yes: # whimbrel: ignore[C04] above the line records it",
                "no: --builtin FILE with the output of `httpd -l` of the old server",
            ),
        )
    yield from missing_module_findings(tree, "C04")


RULE = Rule(
    "C04", "compiled-in", "Modules that were compiled in need LoadModule lines", check, order=LOAD_MODULE
)
