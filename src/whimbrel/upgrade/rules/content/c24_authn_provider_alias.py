"""C24: <AuthnProviderAlias> is mod_authn_core's.  Document: documents/C24-authn-provider-alias.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import is_module_missing

OLD_NAMES = ("mod_authn_alias.c", "authn_alias_module")


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield sections in a branch for the old module, which 2.4 skips, and sections for which mod_authn_core
    is missing."""
    for section in tree.named("<authnprovideralias", include_inactive=True):
        branch = next(
            (ifmodule for ifmodule in section.enclosing("<ifmodule") if _tests_old_module(ifmodule)), None
        )
        if branch is not None and section.in_22 is not False and branch.in_24 is not False:
            name = (
                "mod_authn_core.c" if branch.args.strip().strip('"').endswith(".c") else "authn_core_module"
            )
            is_fixable = not tree.options.also_22
            yield Finding(
                "C24",
                branch.place,
                "mod_authn_alias is part of mod_authn_core in 2.4: "
                "a branch for the old module leaves the aliases undefined",
                "test for mod_authn_core",
                Risk.BREAKS,
                Safety.SAFE if is_fixable else Safety.MANUAL,
                (branch.replace_args(f"{name}>"),) if is_fixable else (),
            )
        elif (
            section.in_22 is not False
            and section.in_24 is not False
            and is_module_missing(tree, "authn_core_module", section)
        ):
            yield Finding(
                "C24",
                section.place,
                (
                    "<AuthnProviderAlias> is a directive of mod_authn_core, which is not loaded: 2.4 does "
                    "not start"
                ),
                "load mod_authn_core",
                Risk.BREAKS,
            )


def _tests_old_module(branch: Statement) -> bool:
    return branch.args.strip().strip('"') in OLD_NAMES


RULE = Rule("C24", "authn-provider-alias", "AuthnProviderAlias is mod_authn_core's", check)
