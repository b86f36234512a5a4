"""The modules compiled into the 2.2 binary: listed, read from its configure line, known of a distribution, or
assumed.

The text of a configuration does not name them, so an upgrade without them would lose mod_dir, mod_mime and
others. The report states the origin. A configuration that loads modules of 2.4 has none: it is not for a 2.2
binary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.builds import ANY, AUTO, WINDOWS
from whimbrel.base.errors import SourceLocation
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.layouts import DEBIAN, SHARED, SUSE, Layout, recognize
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.catalogue import catalogue
from whimbrel.config.options import LoadOptions
from whimbrel.config.windows import DOCUMENTS, WINNT, is_windows_library, is_windows_path
from whimbrel.config.windows import SOURCE as WINNT_SOURCE
from whimbrel.upgrade.source.config_tree import BuiltIn, ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import is_24_config

DEFAULT: Final = frozenset(
    {
        "authn_file_module",
        "authn_default_module",
        "authz_host_module",
        "authz_groupfile_module",
        "authz_user_module",
        "authz_default_module",
        "auth_basic_module",
        "include_module",
        "filter_module",
        "log_config_module",
        "env_module",
        "setenvif_module",
        "version_module",
        "mime_module",
        "status_module",
        "autoindex_module",
        "asis_module",
        "cgi_module",
        "negotiation_module",
        "dir_module",
        "actions_module",
        "userdir_module",
        "alias_module",
    }
)
"""The modules that `configure` of 2.2 compiles in without options."""
CONFIGURE_OPTION: Final = re.compile(
    r"([\"']?)--(enable|disable|with|without)-([\w-]+)(?:=([^\"'\\\s]*|[^\"']*))?\1"
)
"""One option of a `configure` command line."""
OF_24: Final = "not asked: the text loads modules that only 2.4 has"
OF_DEFAULT: Final = "core, http, so and one MPM, as the text loads what httpd's own build has compiled in"
LISTED: Final = "the list that was given"
_CONDITIONS: Final = ("<ifmodule", "<ifdefine", "<ifversion")
OTHER: Final = "--builtin FILE for another"
_ALL: Final = ("all", "most", "few", "reallyall")


def is_windows(tree: ConfigTree) -> bool:
    """Return True if the server of *tree* is on Windows: what is compiled in was decided, or else the text
    shows it."""
    if tree.built_in.origin:
        return WINNT in tree.built_in.modules
    known = tree.cache.get("windows")
    if known is None:
        known = shows_windows(tree) is not None
        tree.cache["windows"] = known
    return bool(known)


def shows_windows(tree: ConfigTree) -> Statement | None:
    """Return the line that shows a server on Windows: a ServerRoot with a drive letter, or without a
    ServerRoot another path of the server or a library of Windows that is loaded in any case."""
    roots = list(tree.named("serverroot", include_inactive=True))
    lines = roots or list(tree.named(*DOCUMENTS, include_inactive=True))
    found = (
        line
        for line in lines
        if line.file.role is not Role.HTACCESS and is_windows_path(line.args.strip().lstrip('"'))
    )
    libraries = (
        line
        for line in ([] if roots else tree.named("loadmodule"))
        if is_windows_library("".join(line.words()[1:2])) and next(line.enclosing(), None) is None
    )
    return next(found, None) or next(libraries, None)


def as_its_build(options: LoadOptions, built_in: BuiltIn) -> LoadOptions:
    """Return *options* to load the text for the system of *built_in*, unless they name a build."""
    if options.build not in (ANY, AUTO):
        return options
    if WINNT in built_in.modules:
        return replace(options, build=WINDOWS)
    # the list tells of 2.2: which MPM a 2.4 has, and whether it has one, the text shows
    return replace(options, is_unix=True) if built_in.origin == LISTED else options


def listed_sources(listed: frozenset[str]) -> frozenset[str]:
    """Return the modules of a list without MPMs: a loaded configuration of 2.2 has one already."""
    rows = catalogue("2.2").modules
    return frozenset(row.source for row in rows if row.source in listed and row.kind != "mpm")


def built_in_modules(tree: ConfigTree, listed: frozenset[str] | None = None) -> BuiltIn:
    """Return the modules compiled into the binary of *tree*; *listed* are the source files in the output of
    `httpd -l`.

    Where nothing shows which they are, those count as well whose directives the text uses without a line that
    loads them: a server has run with this text.
    """
    found = _shown_modules(tree, listed)
    if not found.assumed or tree.modules_unread is not None:
        return found
    used = _used_modules(tree, found.modules)
    return replace(found, modules=found.modules.union(used), used=tuple(used.items()))


def _used_modules(tree: ConfigTree, known: frozenset[str]) -> dict[str, SourceLocation]:
    """Return the modules of 2.2 beside *known* that no line loads, and whose directives the text uses outside
    of conditions, each with its first line.
    """
    loads = tree.named("loadmodule", include_inactive=True)
    present = known.union(line.words()[0] for line in loads if line.words())
    rows = {row.source: row for row in catalogue("2.2").modules}
    used: dict[str, SourceLocation] = {}
    for line in tree.all_statements():
        if line.file.role is Role.MAIN and next(line.enclosing(*_CONDITIONS), None) is None:
            owners = [rows[entry.source] for entry in catalogue("2.2").find(line.name.lstrip("<"))]
            is_present = any(row.is_static or row.identifier in present for row in owners)
            if owners and not is_present and owners[0].kind != "mpm":
                used.setdefault(owners[0].identifier, line.place)
    return used


def _shown_modules(tree: ConfigTree, listed: frozenset[str] | None) -> BuiltIn:
    if listed is not None:
        return BuiltIn(
            frozenset(row.identifier for row in catalogue("2.2").modules if row.source in listed)
            | ({WINNT} if WINNT_SOURCE in listed else set()),
            LISTED,
        )
    line = shows_windows(tree)
    if line is not None:
        place = f"{line.place.path.rpartition('/')[2]}:{line.place.line}"
        return BuiltIn(
            frozenset({WINNT}), f"mpm_winnt, read as a server on Windows, as {place} shows; {OTHER}"
        )
    if is_24_config(tree):
        return BuiltIn(frozenset(), OF_24)
    configured = _of_configure_line(tree)
    if configured is not None:
        return BuiltIn(configured, "build/config.nice")
    lines = [line for line in tree.named("loadmodule", include_inactive=True) if line.words()]
    distribution = _distribution(tree, lines)
    if distribution is not None:
        modules = distribution.modules_22 or frozenset()
        return BuiltIn(modules - {line.words()[0] for line in lines}, distribution.name)
    if any(line.words()[0] in DEFAULT for line in lines):
        return BuiltIn(frozenset(), OF_DEFAULT)
    return BuiltIn(DEFAULT, "httpd's default build", assumed=True)


def is_of_suse(tree: ConfigTree) -> bool:
    """Return True if the text or the place of its main file is one of SUSE's packages."""
    lines = [line for line in tree.named("loadmodule", include_inactive=True) if line.words()]
    layout = _layout_of(tree, lines)
    return layout is not None and layout.build == SUSE


def has_shared_mpm(tree: ConfigTree) -> bool:
    """Return True if the text is one of packages whose 2.4 loads its MPM by a line."""
    lines = [line for line in tree.named("loadmodule", include_inactive=True) if line.words()]
    layout = _layout_of(tree, lines)
    return layout is not None and layout.build in (SHARED, DEBIAN)


def _distribution(tree: ConfigTree, lines: list[Statement]) -> Layout | None:
    """Return the layout of the tree, if the modules of its 2.2 are known."""
    layout = _layout_of(tree, lines)
    return layout if layout is not None and layout.modules_22 is not None else None


def _layout_of(tree: ConfigTree, lines: list[Statement]) -> Layout | None:
    """Return the layout that the tree with the LoadModule *lines* shows."""
    paths = [
        tree.root,
        *(line.args.strip().strip('"') for line in tree.named("serverroot", include_inactive=True)),
        *_module_paths(lines),
    ]
    main = next((file for file in tree.files.values() if file.role is Role.MAIN), None)
    if main is not None:
        paths.append(main.path)
    found = recognize(tuple(paths), main.document.bytes if main is not None else b"")
    return found.layout if found is not None else None


def _module_paths(lines: list[Statement]) -> Iterator[str]:
    return (line.words()[1] for line in lines if len(line.words()) > 1)


def _of_configure_line(tree: ConfigTree) -> frozenset[str] | None:
    """Return the modules that build/config.nice below the ServerRoot compiles in; None if there is no such
    file."""
    try:
        text = read_regular(to_bytes(f"{tree.root}/build/config.nice")).decode("latin-1")
    except OSError:
        return None
    return configured(text)


def configured(text: str) -> frozenset[str]:
    """Return the modules that the configure line *text* compiles in."""
    names = {
        row.source.removeprefix("mod_").removesuffix(".c").replace("_", "-"): row.identifier
        for row in catalogue("2.2").modules
    }
    modules: set[str] = set(DEFAULT)
    shared: set[str] = set()
    for line in text.splitlines():
        option = None if line.lstrip().startswith("#") else CONFIGURE_OPTION.search(line)
        if option is None:
            continue
        verb = option[2]
        name = option[3].lower()
        value = option[4]
        if name in ("mods-shared", "modules"):
            words = [word.lower() for word in re.split(r"[ ,]+", value or "") if word]
            given = (
                set(names.values())
                if set(words) & set(_ALL)
                else {names[word] for word in words if word in names}
            )
            (shared if name == "mods-shared" else modules).update(given)
        elif name in names and verb == "disable":
            modules.discard(names[name])
        elif name in names and verb == "enable":
            (shared if value == "shared" else modules).add(names[name])
    return frozenset(modules - shared)
