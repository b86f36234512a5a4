"""X11: tests of modules with a name that does not test what is meant. Document: documents/X11-branches.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.catalogue import catalogue
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.modules.c05_new_and_gone import GONE
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield <IfModule> sections with a name that no module has, or that only 2.2 has."""
    catalogue_24 = catalogue("2.4")
    catalogue_22 = catalogue("2.2")
    for section in tree.named("<ifmodule"):
        name = section.args.strip().strip('"').removeprefix("!").strip()
        if name in ("mod_disk_cache.c", "disk_cache_module"):
            continue
        is_file = not name.endswith(".c") and (
            catalogue_24.module_of_file(name) or catalogue_22.module_of_file(name)
        )
        if is_file:
            yield _finding(
                section,
                (
                    f"<IfModule {name}> tests a name that no module has (its file is {name}.c): its "
                    f"contents are {'always' if '!' in section.args else 'never'} read"
                ),
                f"write {name}.c if that is meant",
            )
        elif _has(catalogue_22.modules, name) and not _has(catalogue_24.modules, name):
            yield _finding(
                section,
                (
                    f"no module of 2.4 is called {name}: 2.4 {'reads' if '!' in section.args else 'skips'} "
                    "the contents"
                ),
                _successor(name),
            )
        elif name in ("mod_authz_host.c", "authz_host_module") and any(
            child.name in ("require", "<requireany") for child in section.children
        ):
            yield _finding(
                section,
                f"both versions have {name}: it does not distinguish them",
                "test for mod_authz_core.c",
            )


def _successor(name: str) -> str:
    identifier = (
        name if name.endswith("_module") else f"{name.removeprefix('mod_').removesuffix('.c')}_module"
    )
    return (
        f"check whether a successor fits: {GONE[identifier]}"
        if identifier in GONE
        else "look whether a successor should do it"
    )


def _has(rows: tuple[object, ...], name: str) -> bool:
    return any(name in (getattr(row, "identifier", ""), getattr(row, "source", "")) for row in rows)


def _finding(section: Statement, message: str, advice: str) -> Finding:
    return Finding("X11", section.place, message, advice, Risk.COSMETIC)


RULE = Rule("X11", "branches", "<IfModule> that tests something else", check)
