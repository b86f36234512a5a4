"""mod_session's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, between

CHECKS: dict[str, Rule] = {
    "sessionexpiryupdateinterval": between(0, None, "SessionExpiryUpdateInterval must be zero (disable) or a positive value"),
}
