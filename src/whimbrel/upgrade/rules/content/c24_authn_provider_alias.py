"""C24: <AuthnProviderAlias> is mod_authn_core's.  Document: documents/C24-authn-provider-alias.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.estate import Estate, Statement
from whimbrel.upgrade.model import Finding, Risk, Rule, Safety
from whimbrel.upgrade.rules.helping import lacks

OLD_NAMES = ("mod_authn_alias.c", "authn_alias_module")


def check(estate: Estate) -> Iterator[Finding]:
    """Sections that 2.4 would skip with the branch for the old module, and those for which mod_authn_core is missing."""
    for section in estate.named("<authnprovideralias", dead=True):
        branch = next((one for one in section.enclosing("<ifmodule") if _asks(one)), None)
        if branch is not None and section.in_22 is not False and branch.in_24 is not False:
            name = "mod_authn_core.c" if branch.args.strip().strip('"').endswith(".c") else "authn_core_module"
            mended = not estate.wishes.also_22
            yield Finding(
                "C24", branch.place, "mod_authn_alias is part of mod_authn_core in 2.4: a branch for the old module leaves the aliases undefined",
                "ask for mod_authn_core", Risk.BREAKS, Safety.SAFE if mended else Safety.MANUAL, (branch.put_args(f"{name}>"),) if mended else (),
            )
        elif section.in_22 is not False and section.in_24 is not False and lacks(estate, "authn_core_module"):
            yield Finding("C24", section.place, "<AuthnProviderAlias> is mod_authn_core's, which is not loaded: 2.4 does not start",
                          "load mod_authn_core", Risk.BREAKS)


def _asks(branch: Statement) -> bool:
    return branch.args.strip().strip('"') in OLD_NAMES


RULE = Rule("C24", "authn-provider-alias", "AuthnProviderAlias is mod_authn_core's", check)
