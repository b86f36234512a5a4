"""C05: modules that are gone, and new modules that every configuration needs.

Document: documents/C05-new-and-gone.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.helpers import replace_statement
from whimbrel.upgrade.edits.load_module import load_module_lines
from whimbrel.upgrade.files.generated_modules import generated_module_findings
from whimbrel.upgrade.files.needed_modules import missing_module_findings
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.htaccess import accepts_directive

GONE: Final = {
    "authn_default_module": "mod_authn_core answers 500, not 401, where no other module decides about a user",
    "authz_default_module": "mod_authz_core denies requests that no line grants",
    "authn_alias_module": "mod_authn_core has AuthnProviderAlias",
    "mem_cache_module": "mod_cache_socache caches responses in shared memory",
    "example_module": "it was an example for programmers",
}


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield LoadModule lines of modules that 2.4 lacks, then the modules that every configuration needs."""
    state = load_module_lines(tree)
    for line in tree.named("loadmodule"):
        name = "".join(line.words()[:1])
        if name in GONE:
            yield Finding(
                "C05",
                line.place,
                f"mod_{name.removesuffix('_module')} is gone: {GONE[name]}",
                "remove the line",
                Risk.BREAKS,
                Safety.SAFE,
                replace_statement(tree, line),
            )
        elif line in state.lines and state.is_refused(line):
            yield Finding(
                "C05",
                line.place,
                (f"the target 2.4 has mod_{name.removesuffix('_module')} compiled in and refuses the line"),
                "remove the line",
                Risk.BREAKS,
                Safety.SAFE,
                replace_statement(tree, line),
            )
    for line in tree.named("example"):
        if accepts_directive(tree, line, "options"):  # otherwise 2.2 refuses it too
            yield Finding(
                "C05",
                line.place,
                "Example is a directive of mod_example, an example for programmers without effect",
                "remove the line",
                Risk.BREAKS,
                Safety.SAFE,
                replace_statement(tree, line),
            )
    yield from missing_module_findings(tree, "C05")
    yield from generated_module_findings(tree, "C05")


RULE = Rule(
    "C05", "new-and-gone", "Modules that are gone, and new ones that are needed", check, order=LOAD_MODULE
)
