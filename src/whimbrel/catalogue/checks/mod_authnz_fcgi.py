"""mod_authnz_fcgi's argument rules."""

from __future__ import annotations

import re

from whimbrel.catalogue.checks.rules import CheckContext, Rule

DEFINE = "AuthnzFcgiDefineProvider: "
CHECK = "AuthnzFcgiCheckAuthnProvider: "
_BACKEND = re.compile(r"fcgi://(?:[^:/\[\]]+|\[[^\]]+\]):([0-9]+)/?")


def _define(words: list[str], around: CheckContext) -> str | None:
    """TYPE NAME fcgi://HOST:PORT"""
    for missing, index in (("type", 0), ("provider name", 1), ("backend-address", 2)):
        if len(words) <= index:
            return f"{DEFINE}No {missing} given"
        if index == 0 and words[0].lower() not in ("authn", "authz", "authnz"):
            return f"{DEFINE}Invalid provider type {words[0]}"
    match = _BACKEND.fullmatch(words[2])
    if not match:
        return f"{DEFINE}backend-address '{words[2]}' has invalid form"
    if int(match[1]) > 65535:
        return f"{DEFINE}backend-address '{words[2]}' has invalid port"
    return f"{DEFINE}Unexpected parameter {words[3]}" if len(words) > 3 else None


def _check(words: list[str], around: CheckContext) -> str | None:
    """NAME or None, then pairs of an option and its value."""
    if not words:
        return f"{CHECK}No provider given"
    if words[0].lower() == "none":
        return 'Options aren\'t supported with "None"' if len(words) > 1 else None
    for index in range(1, len(words), 2):
        option = words[index]
        if index + 1 == len(words):
            return f"{CHECK}{option}needs an argument"
        if option.lower() in ("authoritative", "requirebasicauth"):
            if words[index + 1].lower() not in ("on", "off"):
                return f"{CHECK}Bad argument '{words[index + 1]}' to option '{option}'"
        elif option.lower() == "userexpr":
            if wrong := around.expression_error(words[index + 1], True):
                return f"{CHECK}Error parsing '{words[index + 1]}': '{wrong}'"
        elif option.lower() != "defaultuser":
            return f"{CHECK}Unexpected option '{option}'"
    return None


CHECKS: dict[str, Rule] = {"authnzfcgidefineprovider": _define, "authnzfcgicheckauthnprovider": _check}
