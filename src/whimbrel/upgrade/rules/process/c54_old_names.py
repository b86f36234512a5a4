"""C54: deprecated names that 2.4 still accepts. Document: documents/C54-old-names.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield names without a row of their own."""
    for line in tree.named("sslcertificatechainfile"):
        yield Finding(
            "C54",
            line.place,
            "2.4 still reads SSLCertificateChainFile, and its manual names SSLCertificateFile for the chain",
            "append the chain to the file of SSLCertificateFile",
            Risk.COSMETIC,
        )
    # a .htaccess file that is not here may use it: then the upgrade itself keeps the module
    used = bool(tree.missing_roots) or any(tree.named("order", "allow", "deny", "satisfy"))
    for line in tree.named("loadmodule"):
        if line.words()[:1] == ["access_compat_module"] and not used:
            yield Finding(
                "C54",
                line.place,
                "mod_access_compat is loaded, and no line here uses it",
                "remove the line once no .htaccess file needs the module",
                Risk.COSMETIC,
            )


RULE = Rule("C54", "old-names", "Old names that 2.4 still takes", check)
