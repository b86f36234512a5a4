"""C03: the lbmethods of balancers are separate modules. Document: documents/C03-lbmethods.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.files.needed_modules import missing_module_findings
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every lbmethod whose module is not loaded, and the shared memory that balancers need."""
    yield from missing_module_findings(tree, "C03")


RULE = Rule(
    "C03", "lbmethods", "lbmethods are modules, and balancers need shared memory", check, order=LOAD_MODULE
)
