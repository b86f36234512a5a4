"""mod_auth_form's argument rules; its expressions are judged where expressions are compiled."""

from __future__ import annotations

from whimbrel.catalogue.checks.providers import authn_provider
from whimbrel.catalogue.checks.rules import Rule, size

CHECKS: dict[str, Rule] = {
    "authformprovider": authn_provider,
    "authformsize": size(0, "AuthCookieFormSize must be a size in bytes, or zero."),
}
