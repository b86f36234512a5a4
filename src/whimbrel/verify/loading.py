"""Loading of configurations on another machine than their server's: what is missing here is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.dialect import DIALECTS, Dialect
from whimbrel.base.errors import ConfigError, MissingTypes, StartError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.configuration import Configuration
from whimbrel.config.execute import root_relative
from whimbrel.config.options import LoadOptions
from whimbrel.directives.tokens import words
from whimbrel.upgrade.source.binary import as_binary
from whimbrel.verify.copied_htaccess import with_copied_htaccess
from whimbrel.verify.side import Side

TYPE_MODULES: Final = ("mime_module", "mime_magic_module")
"""Modules whose step after reading only reads a file of types: answers depend on it."""


def load_side(
    options: LoadOptions,
    dialect: Dialect | str,
    *,
    name: str = "",
    origins: bool = True,
    now: float | None = None,
) -> Side:
    """Return the side of a configuration whose server need not run here: directories may be missing.

    *now* is the time of all answers, seconds since the epoch. Media types are read from TypesConfig; a file
    that cannot be read leaves them out.
    """
    options = replace(options, is_elsewhere=True, origins=origins)
    side = Side.load(options, dialect, name=name, now=now, check_only=True)
    if side.is_loaded:
        for module in side.loaded.modules.modules:
            if module.name in TYPE_MODULES:
                for step in module.post_config:
                    try:
                        step(side.loaded)
                    except ConfigError as problem:
                        side.missing += (MissingTypes(problem.reason, problem.place),)
                    except StartError as problem:
                        side.missing += (MissingTypes(problem.lines[0]),)
    return side


def will_miss_types(configuration: Configuration) -> bool:
    """Return True if mod_mime will not find its file of types, which ends the start once all is loaded."""
    if all(module.name != "mime_module" for module in configuration.modules.modules):
        return False
    named = [words(node.args) for node in configuration.tree if node.name.lower() == "typesconfig"]
    path = named[-1][0] if named and named[-1] else configuration.build.types_file
    return not configuration.disk.exists(root_relative(configuration.root, path))


def load_sides(
    options: tuple[LoadOptions, LoadOptions], dialects: tuple[str, str], names: tuple[str, str]
) -> tuple[Side, Side]:
    """Return the sides of a comparison.

    If one does not load because this machine lacks something, both are loaded without it. Sides record
    the lines that set each value, for the comparison of differing lines.
    """
    # what the text implies about the binary is the same, whatever is left out of it
    old, new = (as_binary(one, DIALECTS[name]) for one, name in zip(options, dialects, strict=True))
    sides = _loaded((old[0], new[0]), dialects, names)
    for side, (_options, assumed) in zip(sides, (old, new), strict=True):
        side.assumed = tuple(assumed)
    return sides


def _loaded(
    options: tuple[LoadOptions, LoadOptions], dialects: tuple[str, str], names: tuple[str, str]
) -> tuple[Side, Side]:

    def load(at: int, now: float | None, is_hopeless: Callable[[Configuration], bool] | None = None) -> Side:
        one = replace(options[at], origins=True)
        return Side.load(one, dialects[at], name=names[at], now=now, is_hopeless=is_hopeless)

    old = load(0, None, will_miss_types)
    now = old.runtime.time
    new = load(1, now, will_miss_types) if old.is_loaded else None
    if new is not None and new.is_loaded:
        return old, new
    elsewhere = tuple(
        load_side(one, dialect, name=name, origins=True, now=now)
        for one, dialect, name in zip(options, dialects, names, strict=True)
    )
    missing = [problem for side in elsewhere for problem in side.missing]
    fails = bool(old.errors or (new is not None and new.errors))
    if missing and (fails or any(map(misses_types, elsewhere))):
        return _with_matters(*elsewhere)
    if not (old.is_loaded or old.errors):
        old = load(0, now)
    if new is None or not new.errors:
        new = load(1, now)
    is_complete = old.is_loaded and new.is_loaded
    return _with_matters(*elsewhere) if missing and not is_complete else (old, new)


def _with_matters(old: Side, new: Side) -> tuple[Side, Side]:
    """Return both sides; a missing file of types matters where the answers of one side alone have types."""
    if misses_types(old) != misses_types(new):
        for side in (old, new):
            for problem in side.missing:
                problem.matters |= isinstance(problem, MissingTypes)
    return old, new


def misses_types(side: Side) -> bool:
    """Return True if the file of the types of names could not be read."""
    return any(isinstance(problem, MissingTypes) for problem in side.missing)


def with_files_of_old(old: LoadOptions, new: LoadOptions) -> LoadOptions:
    """Return *new* with the files of the root of *old* in the place of those that its own root lacks.

    They are the files that lines name in full: a file that a wildcard or an IncludeOptional no longer finds
    was removed, and so was a .htaccess file or a document.
    """
    if old.server_root.rstrip("/") == new.server_root.rstrip("/"):
        return new
    return replace(new, stand_in_root=old.server_root, stand_in_image=old.image if new.image else "")


def as_copy(old: LoadOptions, new: LoadOptions) -> LoadOptions:
    """Return *new* as a changed copy of *old*: with its own .htaccess files, else with the files of *old*.

    A configuration that is compared with none is a copy of itself.
    """
    return with_files_of_old(old, with_copied_htaccess(old, new))
