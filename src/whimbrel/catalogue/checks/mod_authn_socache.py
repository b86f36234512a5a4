"""mod_authn_socache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Around, Rule, has_socache


def _socache(words: list[str], around: Around) -> str | None:
    name = words[0]
    if has_socache(name.partition(":")[0], around):
        return None
    return f"AuthnCacheSOCache: Unknown socache provider '{name}'. Maybe you need to load the appropriate socache module (mod_socache_{name}?)"


CHECKS: dict[str, Rule] = {"authncachesocache": _socache}
