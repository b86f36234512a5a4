"""The argument rules of 2.2's mod_authn_alias."""

from __future__ import annotations

from whimbrel.catalogue.checks.providers import authn_provider
from whimbrel.catalogue.checks.rules import CheckContext, Declarer, Rule, split_args


def _names(words: list[str]) -> list[str]:
    return split_args(words[0].rpartition(">")[0] or words[0])


def _alias(words: list[str], around: CheckContext) -> str | None:
    """BASE NAME"""
    names = _names(words)
    if len(names) < 2:
        return "<AuthnProviderAlias> directive requires additional arguments"
    if names[0].lower() == names[1].lower():
        return "The alias provider name must be different from the base provider name."
    return authn_provider(names[:1], around)


CHECKS: dict[str, Rule] = {"<authnprovideralias": _alias}
DECLARES: dict[str, Declarer] = {
    "<authnprovideralias": lambda words, around: [("authn", name) for name in _names(words)[1:2]]
}
