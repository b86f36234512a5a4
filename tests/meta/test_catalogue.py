"""Modules have a setter for each of their directives in the catalogue, and for nothing else."""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterator

import pytest

import whimbrel.modules
from tests.meta.tree import assert_none
from whimbrel.catalogue import catalogue
from whimbrel.directives.spec import Versions
from whimbrel.registry.module import Module

VERSIONS = {"2.2": Versions.V22, "2.4": Versions.V24}


def modules() -> Iterator[Module]:
    """Yield every `Module` of the package once."""
    pytest.importorskip("ldap", reason="a file of mod_ldap imports python-ldap, which is not installed")
    seen: set[int] = set()
    for info in pkgutil.walk_packages(whimbrel.modules.__path__, "whimbrel.modules."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                yield value


def names(module: Module, version: str) -> set[str]:
    """Return the directives of *module* in one version, as the catalogue spells them."""
    if not module.versions & VERSIONS[version]:
        return set()
    return {row.name for row in catalogue(version).module_rows(module.source)}


def test_each_directive_has_one_setter() -> None:
    wrong = []
    for module in modules():
        setters = Counter([*module.dir_setters, *module.server_setters, *module.setters])
        listed = names(module, "2.2") | names(module, "2.4")
        wrong += [f"{module.source} {name}" for name in sorted(setters.keys() ^ listed)]
        wrong += [f"{module.source} {name}: {count} setters" for name, count in setters.items() if count > 1]
    assert_none(wrong)


def test_records_of_setters_exist() -> None:
    assert_none(
        module.source
        for module in modules()
        if (module.dir_setters and module.dir_config is None)
        or (module.server_setters and module.server_config is None)
    )


def test_names_of_other_sets_are_directives_of_the_module() -> None:
    assert_none(
        f"{module.source} {name}"
        for module in modules()
        for name in module.own_context_checks | module.unimplemented
        if module.setter(name) is None
    )
