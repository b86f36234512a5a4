"""The modules in the 2.2 binary of a configuration that is loaded rather than upgraded."""

from __future__ import annotations

from whimbrel.base.dialect import Dialect
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.real_paths import real_path
from whimbrel.catalogue import catalogue
from whimbrel.config.load import DeepRecursion
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.knowledge.scope import UnknownItem
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.built_in_modules import as_its_build, built_in_modules
from whimbrel.upgrade.source.config_tree import BuiltIn
from whimbrel.upgrade.source.reading import ConfigTreeReader, Overlay, Sources


def with_compiled_in(options: LoadOptions, dialect: Dialect) -> LoadOptions:
    """Return *options* with the modules in the binary, which the text of a 2.2 configuration implies.

    A build of 2.4 and listed modules stay as they are.
    """
    return as_binary(options, dialect)[0]


def as_binary(options: LoadOptions, dialect: Dialect) -> tuple[LoadOptions, list[UnknownItem]]:
    """Return the same with what is assumed about the binary."""
    if dialect.version >= (2, 4) or options.compiled_in is not None:
        return options, []
    built_in = _built_in(options)
    options = as_its_build(options, built_in)
    options = replace(options, compiled_in=sources_of(built_in), built_in_origin=built_in.origin)
    return options, built_in.items()


def for_its_system(options: LoadOptions) -> LoadOptions:
    """Return *options* to load the text under 2.4 for the system that it shows."""
    return as_its_build(options, _built_in(options))


def _built_in(options: LoadOptions) -> BuiltIn:
    overlay = Overlay({real_path(path): data for path, data in options.overlay.items()})
    sources = Sources(options=options, is_relocated=options.is_copy)
    reader = ConfigTreeReader(sources, UpgradeOptions(), overlay, lambda _path: None, BuiltIn())
    with DeepRecursion():
        reader.configuration()
    return built_in_modules(reader.tree)


def sources_of(built_in: BuiltIn) -> frozenset[str]:
    """Return the source files of *built_in* without MPMs: a loaded configuration has one already."""
    rows = (catalogue("2.2").module(name) for name in built_in.modules)
    return frozenset(row.source for row in rows if row is not None and row.kind != "mpm")
