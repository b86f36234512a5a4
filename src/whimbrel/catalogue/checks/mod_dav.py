"""mod_dav's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import CheckContext, Rule, in_range, only


def _provider(words: list[str], around: CheckContext) -> str | None:
    """On means filesystem, the provider of mod_dav_fs."""
    name = {"on": "filesystem", "off": ""}.get(words[0].lower(), words[0])
    return (
        f"Unknown DAV provider: {name}"
        if name and (name != "filesystem" or "dav_fs_module" not in around.loaded)
        else None
    )


CHECKS: dict[str, Rule] = {
    "dav": _provider,
    "davmintimeout": only("2.4", in_range(0, None, "DAVMinTimeout requires a non-negative integer.")),
}
