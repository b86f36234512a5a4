r"""Guards: sections that protect password files, such as <Files ~ "^\.ht"> with Deny from all in httpd's own
configuration.

In 2.2 an outer Satisfy Any opened them to every user with a password. The upgrade always writes them as
closed.
"""

from __future__ import annotations

from typing import Final

from whimbrel.access.layers import AccessLine
from whimbrel.upgrade.access_control import native
from whimbrel.upgrade.access_control.effective import has_directive, merge_effective
from whimbrel.upgrade.access_control.replacement import FILES, Lines
from whimbrel.upgrade.access_control.sections import AccessSection
from whimbrel.upgrade.access_control.trees import DENIED

_CLOSED: Final = AccessLine("require", "all denied")
FORMS: Final[tuple[Lines, ...]] = (
    (_CLOSED,),
    (
        AccessLine("order", "allow,deny"),
        AccessLine("deny", "from all"),
        AccessLine("satisfy", "All"),
        _CLOSED,
    ),
)
"""The replacements of a guard; the second one also prevents an outer Satisfy Any of mod_access_compat from
opening it."""


def is_guard(unit: AccessSection) -> bool:
    """Return True if the section denies every client access to files such as .htpasswd, and to no other
    files."""
    if (
        unit.kind not in FILES
        or not (unit.matches(".htpasswd") or unit.matches(".htaccess"))
        or unit.matches("index.html")
    ):
        return False
    if has_directive(unit.access_lines, {"require"}) or any(
        line.args.lower() == "any" for line in unit.access_lines if line.name == "satisfy"
    ):
        return False
    return bool(unit.access_lines) and all(
        native.host_tree(rules) == DENIED for rules in merge_effective([unit.access_lines]).values()
    )
