"""mod_authz_dbd's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, when

NEEDS = when(lambda words, around: "dbd_module" not in around.loaded, "You must load mod_dbd to enable AuthzDBD functions")

CHECKS: dict[str, Rule] = {"authzdbdquery": NEEDS, "authzdbdredirectquery": NEEDS}
