"""mod_suexec's argument rules: without a suexec binary, as recorded, 2.4 refuses the directive and 2.2
warns.
"""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckWarning, Rule, Warner, always, only

DISABLED = "SuexecUserGroup configured, but suEXEC is disabled: Missing suexec binary /usr/lib/apache2/suexec"

CHECKS: dict[str, Rule] = {"suexecusergroup": only("2.4", always(DISABLED))}
WRAPPER = CheckWarning("Warning: SuexecUserGroup directive requires SUEXEC wrapper.", level="startup")
WARNINGS: dict[str, Warner] = {
    "suexecusergroup": lambda words, around: WRAPPER if around.version == "2.2" else None
}
