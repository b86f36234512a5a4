"""Tables of module files equal the catalogue, and so httpd: name, shape, contexts, help text, rows."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import whimbrel.modules
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.third_party import products
from whimbrel.directives.spec import AnyDirective, Args, Context, Versions
from whimbrel.registry.module import Module

VERSIONS = {"2.2": Versions.V22, "2.4": Versions.V24}
CLASSES = Context.OR_OPTIONS | Context.OR_FILEINFO | Context.OR_INDEXES


def modules() -> Iterator[Module]:
    """Yield every `Module` of the package once."""
    seen: set[int] = set()
    for info in pkgutil.walk_packages(whimbrel.modules.__path__, "whimbrel.modules."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, Module) and id(value) not in seen:
                seen.add(id(value))
                yield value


def shape(args: str) -> str:
    """Return the shape in httpd's tables, where AP_INIT_NO_ARGS stands as RAW_ARGS."""
    return "RAW_ARGS" if args == Args.NO_ARGS.name else args


def contexts(where: int) -> int:
    """Return the deciding bits: beside a class that the main server permits anyway, RSRC_CONF changes
    nothing.
    """
    return where | Context.RSRC_CONF if where & CLASSES else where


def declared(module: Module, version: str) -> dict[str, tuple[str, str, int, str]]:
    """Return the module's own rows for one version, by name."""

    def row(d: AnyDirective) -> tuple[str, str, int, str]:
        return d.name, shape(d.args.name), contexts(int(d.where)), d.help

    return {d.name.lower(): row(d) for d in module.directives if d.versions & VERSIONS[version]}


# Modules that are no part of httpd: their tables are those of their own distributions.
FOREIGN = [module.file for product in products() if product.is_built_in for module in product.modules]


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_of_module_files(version: str) -> None:
    pytest.importorskip("ldap", reason="a file of mod_ldap imports python-ldap, which is not installed")
    wrong = []
    foreign = {row.source for file in FOREIGN if (row := catalogue(version).module_of_file(file))}
    for module in modules():
        if not module.versions & VERSIONS[version]:
            continue
        rows = catalogue(version).module_rows(module.source)
        if not rows and module.source in foreign:
            continue
        listed = {r.name.lower(): (r.name, shape(r.args), contexts(r.where), r.help) for r in rows}
        ours = declared(module, version)
        wrong += [
            f"{module.source} {ours.get(n)} != {listed.get(n)}"
            for n in sorted(ours.keys() | listed.keys())
            if ours.get(n) != listed.get(n)
        ]
    assert wrong == []
