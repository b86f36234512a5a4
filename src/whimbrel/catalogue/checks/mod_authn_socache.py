"""mod_authn_socache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.providers import has_socache, segment
from whimbrel.catalogue.checks.rules import Around, Rule


def _socache(words: list[str], around: Around) -> str | None:
    name = words[0]
    provider, _, rest = name.partition(":")
    if has_socache(provider, around):
        wrong = segment(rest, around) if provider in ("shmcb", "default") else None
        return wrong and f"AuthnCacheSOCache: {wrong}"
    return f"AuthnCacheSOCache: Unknown socache provider '{name}'. Maybe you need to load the appropriate socache module (mod_socache_{name}?)"


CHECKS: dict[str, Rule] = {"authncachesocache": _socache}
