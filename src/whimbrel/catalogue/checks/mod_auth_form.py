"""mod_auth_form's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.providers import authn_provider
from whimbrel.catalogue.checks.rules import Rule, expression, size

LOCATIONS = {"authformloginrequiredlocation": "login required", "authformloginsuccesslocation": "login success",
             "authformlogoutlocation": "logout required"}

CHECKS: dict[str, Rule] = {
    **{name: expression(f"Could not parse {what} expression '{{0}}'", string=True) for name, what in LOCATIONS.items()},
    "authformprovider": authn_provider,
    "authformsize": size(0, "AuthCookieFormSize must be a size in bytes, or zero."),
}
