"""mod_dialup's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, one_of

CHECKS: dict[str, Rule] = {
    "modemstandard": one_of("V.21 V.26bis V.32 V.34 V.92", "mod_dialup: Unknown Modem Standard specified.")
}
