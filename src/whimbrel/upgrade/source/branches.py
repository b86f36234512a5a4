"""Branches: <IfModule>, <IfDefine> and <IfVersion> sections as 2.2 and as 2.4 evaluate them.

Each test has three values: True, False, and None if the text does not decide it (a -D of a command line, a
module that may be compiled in, the modules around a fragment).
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.dialect import V22, V24
from whimbrel.base.errors import ConfigError
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import Catalogue
from whimbrel.catalogue.third_party import find_module
from whimbrel.config.windows import SOURCE, WINNT
from whimbrel.directives.tokens import words
from whimbrel.modules.metadata.mod_version import holds
from whimbrel.syntax.words import getword

Maybe = bool | None

ALWAYS: Final = frozenset({"core_module", "so_module", "http_module"})
"""Modules in every build of either version."""
SOMETIMES_STATIC: Final = frozenset(
    {"log_config_module", "logio_module", "version_module", "unixd_module", "watchdog_module"}
)
"""Modules that some distributions compile in and others load by a line."""
NEEDED_24: Final = frozenset({"authz_core_module"})
"""Modules that every 2.4 with an upgraded configuration loads."""


RENAMED: Final = {"mod_disk_cache.c": "mod_cache_disk.c", "disk_cache_module": "cache_disk_module"}
"""Modules of 2.2 with another name in 2.4, which the upgraded text uses."""
MPMS: Final = frozenset(
    {
        "prefork.c",
        "worker.c",
        "event.c",
        "mpm_winnt.c",
        "mpm_netware.c",
        "mpmt_os2.c",
        "beos.c",
        "mpm_prefork_module",
        "mpm_worker_module",
        "mpm_event_module",
        "mpm_winnt_module",
        "mpm_netware_module",
    }
)
"""Names that test for an MPM. 2.2 has one compiled in, and the text does not show which."""


def maybe_and(first: Maybe, second: Maybe) -> Maybe:
    """Return the conjunction of two three-valued tests."""
    if first is False or second is False:
        return False
    return None if first is None or second is None else True


def maybe_not(value: Maybe) -> Maybe:
    return None if value is None else not value


class VersionModules:
    """The modules of one version while the text is read.

    *loaded* maps identifiers in load order to True if the module is certainly loaded.
    """

    def __init__(self, version: str, *, is_complete: bool, built_in: frozenset[str] = frozenset()) -> None:
        self.catalogue: Catalogue = catalogue(version)
        self.other: Catalogue = catalogue("2.4" if version == "2.2" else "2.2")
        self.is_22 = version == "2.2"
        self.loaded: dict[str, Maybe] = {}
        self._sources: dict[str, str] = {}
        self.is_complete = is_complete  # False for fragments: another file loads the modules
        self._has_load_module = False
        self._unknown_foreign = False  # a module that no catalogue names: its source may have any name
        self._is_windows = WINNT in built_in
        # a line of 2.4 may load a module that 2.2 has built in
        self._expected = frozenset() if self.is_22 else built_in
        for row in self.catalogue.modules:
            if row.identifier in ALWAYS or (row.is_static and row.kind == "mpm"):
                self.loaded[row.identifier] = True if row.kind != "mpm" else None
                self._sources[row.source] = row.identifier
            elif self.is_22 and row.identifier in built_in:
                self.loaded[row.identifier] = True
                self._sources[row.source] = row.identifier

    def load(self, identifier: str, path: str, live: Maybe) -> None:
        """Record a LoadModule line that this version executes (*live*); a module that the version lacks fails
        to load and is skipped."""
        if live is False:
            return
        self._has_load_module = True
        base = path.rpartition("/")[2].rpartition("\\")[2].removesuffix(".so")
        row = self.catalogue.module(identifier)
        if row is None and self.other.module(identifier) is not None:
            return
        self._unknown_foreign = self._unknown_foreign or (row is None and find_module(identifier) is None)
        source = row.source if row is not None else f"mod_{identifier.removesuffix('_module')}.c"
        for name in (source, f"{base}.c"):
            self._sources.setdefault(name, identifier)
        self.loaded[identifier] = True if self.loaded.get(identifier) else live

    def has(self, name: str) -> Maybe:
        """Evaluate <IfModule name>; the name is a source file or an identifier."""
        name = name if self.is_22 else RENAMED.get(name, name)
        identifier = self._sources.get(name, name)
        if identifier in self.loaded:
            return self.loaded[identifier]
        if name in MPMS:
            return name in (WINNT, SOURCE) if self._is_windows else self._mpm()
        row = next((row for row in self.catalogue.modules if name in (row.identifier, row.source)), None)
        if row is None:
            gone = any(name in (row.identifier, row.source) for row in self.other.modules)
            return False if gone else self._unloaded(may_be_foreign=find_module(name) is None)
        if not self.is_22 and row.identifier in NEEDED_24:
            return True
        if (
            row.identifier in SOMETIMES_STATIC
            or row.identifier in self._expected
            or (not self.is_22 and self.other.module(row.identifier) is None)
        ):
            return None
        return self._unloaded(may_be_foreign=False)

    def _mpm(self) -> Maybe:
        """Evaluate a test for an MPM: another one may be loaded, else one is compiled in (2.2) or not yet
        loaded (2.4)."""
        certain = any(self.loaded.get(row.identifier) for row in self.catalogue.modules if row.kind == "mpm")
        return False if certain else None

    def _unloaded(self, *, may_be_foreign: bool) -> Maybe:
        """Evaluate a test for a module without a LoadModule line.

        The module is absent if the text has such lines, unless a third-party module may have that name.
        """
        has_all = self.is_complete and self._has_load_module
        return False if has_all and not (may_be_foreign and self._unknown_foreign) else None


class Branches:
    """The branches of one configuration.

    Attributes:
        defines: the names of -D.
        known: the LoadModule lines of the configuration are part of the input.
        built_in: the identifiers of the modules in the 2.2 binary.
    """

    def __init__(
        self, defines: set[str], *, is_complete: bool, built_in: frozenset[str] = frozenset()
    ) -> None:
        self.defines = defines
        self.defines_24: set[str] = set()  # names of Define lines, which only 2.4 has
        self.modules_22 = VersionModules("2.2", is_complete=is_complete, built_in=built_in)
        self.modules_24 = VersionModules("2.4", is_complete=is_complete, built_in=built_in)

    def leave_open(self) -> None:
        """Leave open what no line that was read loads: files with LoadModule lines were not read."""
        self.modules_22.is_complete = False
        self.modules_24.is_complete = False

    def taken(self, container: str, args: str) -> tuple[Maybe, Maybe]:
        """Evaluate *container* (``<ifmodule``) with *args* for 2.2 and for 2.4; any other section gives
        (True, True)."""
        if container == "<ifversion":
            return _version(args, V22.version), _version(args, V24.version)
        if container not in ("<ifmodule", "<ifdefine"):
            return _OF_24.get(container, (True, True))
        name = getword(args)[0].strip()
        negated = name[:1] == "!"
        name = name[1:] if negated else name
        conditions = (
            (self.modules_22.has(name), self.modules_24.has(name))
            if container == "<ifmodule"
            else self._defined(name)
        )
        return (maybe_not(conditions[0]), maybe_not(conditions[1])) if negated else conditions

    def _defined(self, name: str) -> tuple[Maybe, Maybe]:
        """Evaluate a -D name; a name that this command line lacks is undecided."""
        given = True if name in self.defines else None
        return given, True if name in self.defines_24 else given


# Containers of 2.4 alone: 2.2 refuses them, so their contents are for 2.4.
_OF_24: Final[dict[str, tuple[Maybe, Maybe]]] = {
    **dict.fromkeys(("<iffile", "<ifdirective", "<ifsection"), (False, None)),
    **dict.fromkeys(("<if", "<elseif", "<else", "<requireall", "<requireany", "<requirenone"), (False, True)),
}


def _version(args: str, version: tuple[int, int, int]) -> Maybe:
    try:
        return holds("<IfVersion", [*words(args), ">"][:3] if args.strip() else [">"], version)
    except ConfigError:
        return None
