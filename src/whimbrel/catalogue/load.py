r"""The catalogue's tables, parsed lazily.

`directives-VERSION.tsv` has one line for each row of a module's directive table, in the order of -L;
`directives-other.tsv` has those that httpd does not distribute, for both versions, and
`directives-other-2.2.tsv` those of releases for 2.2 alone.
`modules.tsv` has one line for each module, those compiled into the recorded binary first and in the order of
-l; those of other origin are in `third_party.py`.  Fields are between tabs; in help texts ``\n``, ``\t``
and ``\\`` stand for a line end, a tab and a backslash.  A line is split when its row is needed:
`whimbrel-httpd -t` has a tenth of a second for all.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from functools import cache, cached_property

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final

VERSIONS: Final = ("2.2", "2.4")

WHERE = {
    "OR_LIMIT": 1,
    "OR_OPTIONS": 2,
    "OR_FILEINFO": 4,
    "OR_AUTHCFG": 8,
    "OR_INDEXES": 16,
    "OR_ALL": 31,
    "OR_UNSET": 32,
    "ACCESS_CONF": 64,
    "RSRC_CONF": 128,
    "EXEC_ON_READ": 256,
    "NONFATAL_OVERRIDE": 512,
    "NONFATAL_UNKNOWN": 1024,
    "PROXY_CONF": 2048,
}
"""The bits of httpd's req_override by name, with names and values of `directives.spec.Context`."""


@dataclass(frozen=True, slots=True)
class DirectiveEntry:
    """One directive of one module.

    Attributes:
        name: as spelled in httpd's table (messages echo it), containers begin with ``<``
        source: the module as -L names it
        args: the name of a `directives.spec.Args` (AP_INIT_NO_ARGS is RAW_ARGS in the tables)
        where: the bits of `directives.spec.Context`
        forbidden_in: contexts that the directive's own function refuses ("X cannot occur within <VirtualHost>
            section"): ap_check_cmd_context's flags without NOT_IN_, such as GLOBAL_ONLY, DIR_CONTEXT, LIMIT,
            DIRECTORY, LOCATION, FILES, HTACCESS
        default: the documented default, or ""
    """

    name: str
    source: str
    args: str
    where: int
    forbidden_in: tuple[str, ...]
    default: str
    help: str


@dataclass(frozen=True, slots=True)
class ModuleEntry:
    """One module of one version.

    Attributes:
        identifier: the name in LoadModule (``authz_core_module``)
        file: the base name of its file without ``.so`` (``mod_authz_core``)
        source: the name in -l, -L and <IfModule> (``mod_authz_core.c``)
        kind: the manual's status: core, mpm, base, extension, experimental, deprecated; or foreign
        is_static: compiled into the recorded binary
        has_dir_config: it has per-directory settings (-L prints where one does not)
        needs: the identifier of a module to load before it, or ""
        symbol: the undefined symbol on which loading fails otherwise
    """

    version: str
    identifier: str
    file: str
    source: str
    kind: str
    is_static: bool
    has_dir_config: bool
    needs: str
    symbol: str


class Catalogue:
    """Every directive and module of one version of httpd; immutable.  Call `catalogue` for the one instance
    of a version.
    """

    def __init__(self, version: str) -> None:
        self.version = version

    def find(self, name: str) -> tuple[DirectiveEntry, ...]:
        """Return the rows of the directive *name* in any case (containers with ``<``), one for each module
        that has it.
        """
        return tuple(map(_directive_entry, self._by_name.get(name.lower(), ())))

    def module_rows(self, source: str) -> tuple[DirectiveEntry, ...]:
        """Return the rows of the module with source file *source*, in table order, those that httpd does not
        have last; () for an unknown module.
        """
        return tuple([_directive_entry(line) for line in self._by_source.get(source, ())])

    def module(self, identifier: str) -> ModuleEntry | None:
        """Return the module with LoadModule's *identifier*."""
        return _entry_or_none(self._module_lines.get(identifier))

    def module_of_file(self, file: str) -> ModuleEntry | None:
        """Return the module in the file with the base name *file* (no directory, no ``.so``), also one that
        is no part of httpd.
        """
        line = self._module_files.get(file)
        return _third_party(self.version, file) if line is None else _module_entry(line)

    def __iter__(self) -> Iterator[DirectiveEntry]:
        """Yield every row in the order of the modules."""
        return map(_directive_entry, self._lines)

    @cached_property
    def modules(self) -> tuple[ModuleEntry, ...]:
        """Every module: the compiled-in ones in the order of -l, then the others by file name."""
        return tuple(map(_module_entry, self._module_lines.values()))

    @cached_property
    def static_modules(self) -> tuple[ModuleEntry, ...]:
        """The compiled-in modules."""
        return tuple(_module_entry(line) for line in self._module_lines.values() if "\tstatic\t" in line)

    @cached_property
    def _module_lines(self) -> dict[str, str]:
        """Lines by identifier."""
        return {
            line.split("\t", 2)[1]: line for line in _lines("modules.tsv") if line.startswith(self.version)
        }

    @cached_property
    def _module_files(self) -> dict[str, str]:
        """Identifiers by file."""
        return {line.split("\t", 3)[2]: line for line in reversed(self._module_lines.values())}

    @cached_property
    def _lines(self) -> list[str]:
        return _lines(f"directives-{self.version}.tsv")

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        by_name: dict[str, list[str]] = {}
        for line in self._lines:
            by_name.setdefault(line[: line.index("\t")].lower(), []).append(line)
        return by_name

    @cached_property
    def _by_source(self) -> dict[str, list[str]]:
        by_source: dict[str, list[str]] = {}
        former = _lines("directives-other-2.2.tsv") if self.version == "2.2" else []
        for line in (*self._lines, *_lines("directives-other.tsv"), *former):
            by_source.setdefault(line.split("\t", 2)[1], []).append(line)
        return by_source


@cache
def catalogue(version: str) -> Catalogue:
    """Return the catalogue of *version*, "2.2" or "2.4"; raises ValueError for another."""
    if version not in VERSIONS:
        raise ValueError(f"no catalogue of version {version!r}")
    return Catalogue(version)


def is_of_httpd(name: str) -> bool:
    """Return True if a module of either version has the directive *name*, in any case."""
    return any(catalogue(version).find(name) for version in VERSIONS)


@cache
def directive_names() -> dict[str, str]:
    """Return the names of the directives of both versions, by their lower case."""
    return {row.name.lower(): row.name for version in VERSIONS for row in catalogue(version)}


def _third_party(version: str, file: str) -> ModuleEntry | None:
    """Return the entry of a module that httpd does not distribute and that has behaviour here."""
    from whimbrel.catalogue.third_party import module_of_file  # most configurations have no such module

    module = module_of_file(file)
    if module is None:
        return None
    return ModuleEntry(
        version, module.identifier, module.file, module.sources[0], "foreign", False, True, "", ""
    )


def _lines(name: str) -> list[str]:
    """Return the lines of a data file of this package without its header."""
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return to_text(file.read()).split("\n")[1:-1]


def _directive_entry(line: str) -> DirectiveEntry:
    name, source, args, where, forbidden_in, default, text = line.split("\t")
    return DirectiveEntry(
        name,
        source,
        args,
        sum(map(WHERE.__getitem__, where.split("|"))),
        tuple(forbidden_in.split("|")) if forbidden_in else (),
        default,
        _plain(text),
    )


def _plain(text: str) -> str:
    """Return a help text with its escapes decoded."""
    if "\\" not in text:
        return text
    return "\\".join(part.replace("\\n", "\n").replace("\\t", "\t") for part in text.split("\\\\"))


def _entry_or_none(line: str | None) -> ModuleEntry | None:
    return None if line is None else _module_entry(line)


@cache
def _module_entry(line: str) -> ModuleEntry:
    """Return the module of a line; the cache has one entry for each line of the table at most."""
    version, identifier, file, source, kind, linkage, has_dir_config, needs, symbol = line.split("\t")
    return ModuleEntry(
        version, identifier, file, source, kind, linkage == "static", bool(has_dir_config), needs, symbol
    )
