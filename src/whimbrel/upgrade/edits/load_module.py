"""LoadModule lines: the loaded modules, and the place and form of further lines."""

from __future__ import annotations

import os
import re
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.catalogue import ModuleEntry, catalogue
from whimbrel.config.detected_build import lacks_module
from whimbrel.upgrade.edits.helpers import insert_above_comment
from whimbrel.upgrade.model import FileEdit, TargetBuild
from whimbrel.upgrade.source.built_in_modules import has_shared_mpm, is_of_suse
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import THIRD_PARTY_22, is_branch, main_statements, top_level

BUILT_IN: Final = frozenset(
    {"log_config_module", "logio_module", "version_module", "unixd_module", "watchdog_module"}
)
"""Modules that Debian compiles in: a LoadModule line for one of them is an error there."""
MPMS: Final = frozenset({row.identifier for row in catalogue("2.4").modules if row.kind == "mpm"})
"""The MPMs of 2.4."""
UNIX_MPMS: Final = "mpm_prefork_module", "mpm_worker_module", "mpm_event_module"
"""Those that ./configure --with-mpm compiles in: httpd's <IfModule> sees them before any LoadModule line."""
OF_SUSE: Final = MPMS | {*("unixd_module", "systemd_module")}
"""Modules in the programs httpd-prefork, httpd-worker and httpd-event of SUSE: each has its MPM."""
_DEBIAN: Final = "/usr/lib/apache2/modules"
_MPM_TEST: Final = re.compile(r"!?(?:prefork|worker|event)\.c|!?mpm_\w+_module", re.IGNORECASE)
_CORE_TESTS: Final = frozenset(
    {"mod_authz_core.c", "!mod_authz_core.c", "authz_core_module", "!authz_core_module"}
)
_LINE: Final = re.compile(rb"[ \t]*([^ \t]+)([ \t]+)([^ \t]+)([ \t]+)(\"?)(.*?)(\"?)[ \t\r\n]*")
_MODELS: Final = tuple(catalogue("2.2").modules) + tuple(catalogue("2.4").modules)


@dataclass(slots=True, eq=False)
class LoadModuleLines:
    """The LoadModule lines of one configuration.

    Attributes:
        identifiers_22: the identifiers that 2.2 loads or has built in.
        identifiers_24: the identifiers that 2.4 loads under some condition.
        lines: the lines of 2.4 outside of sections; *all_lines* are those in sections, too.
        template: the line whose form new lines copy, None if there is none.
        is_debian: modules are enabled by links to files (``mods-enabled/x.load``).
        is_suse: the text is one of SUSE's packages.
    """

    tree: ConfigTree
    identifiers_22: frozenset[str]
    identifiers_24: frozenset[str]
    lines: list[Statement]
    all_lines: list[Statement]
    template: Statement | None
    is_debian: bool
    is_suse: bool = False

    @property
    def also_22(self) -> bool:
        return self.tree.options.also_22

    def is_built_in(self, identifier: str) -> bool:
        """Return True if the target 2.4 has the module built in: by the options, else as far as the directory
        of modules shows."""
        directory = self._directory()
        known = self._is_known(identifier, directory)
        if known is not None:
            return known
        if self.is_debian or directory.startswith(_DEBIAN):
            return True
        return self._lacks_module(directory, identifier)

    def is_refused(self, line: Statement) -> bool:
        """Return True if the target 2.4 has the module of the LoadModule line built in: it refuses to
        start."""
        identifier, path = line.words()
        directory = path.rpartition("/")[0]
        known = self._is_known(identifier, directory)
        if known is not None:
            return known
        return directory == _DEBIAN or self._lacks_module(directory, identifier)

    def _is_known(self, identifier: str, directory: str) -> bool | None:
        """Return True if the named or shown build of 2.4 has *identifier* built in, False if no build has;
        None if the files in *directory* decide.
        """
        target = self.tree.options.target_build
        if target is TargetBuild.SUSE or (target is None and self.is_suse):
            return identifier in OF_SUSE and not self._has_module(directory, identifier)
        if identifier in MPMS:
            return target is TargetBuild.UPSTREAM or (target is None and self._has_no_mpm(directory))
        if identifier not in BUILT_IN:
            return False
        return None if target is None else target is TargetBuild.DEBIAN

    def _has_module(self, directory: str, identifier: str) -> bool:
        """Return True if the file of *identifier* is in *directory*, here or in the copy."""
        row = catalogue("2.4").module(identifier)
        place = self.tree.module_file(f"{directory}/")
        return row is not None and bool(place) and os.path.isfile(to_bytes(f"{place}{row.file}.so"))

    def _lacks_module(self, directory: str, identifier: str) -> bool:
        """Return True if *directory* holds the modules of a 2.4, but not this one."""
        row = catalogue("2.4").module(identifier)
        place = self.tree.module_file(f"{directory}/")
        return row is not None and bool(place) and lacks_module(place.rstrip("/"), row.file)

    def _has_no_mpm(self, directory: str) -> bool:
        """Return True if *directory* holds the modules of a 2.4, and no MPM."""
        return all(self._lacks_module(directory, identifier) for identifier in MPMS)

    def may_have_mpm(self) -> bool:
        """Return True if nothing shows whether the 2.4 has its MPM compiled in.

        configure does so without --enable-mpms-shared.
        """
        is_packaged = self.is_debian or has_shared_mpm(self.tree)
        has_file = any(self._has_module(self._directory(), identifier) for identifier in MPMS)
        return self.tree.options.target_build is None and not is_packaged and not has_file

    def _directory(self) -> str:
        if self.template is not None:
            return self.template.words()[1].rpartition("/")[0]
        is_debian = self.is_debian or self.tree.options.target_build is TargetBuild.DEBIAN
        return _DEBIAN if is_debian else "modules"

    def format_line(self, identifier: str) -> str:
        """Return the line that loads *identifier*, in the form of the present lines."""
        row = catalogue("2.4").module(identifier)
        assert row is not None
        match = None
        if self.template is not None:
            node = self.template.node
            match = _LINE.fullmatch(self.template.file.document.bytes[node.start : node.end])
        if match is None:
            return f"LoadModule {identifier} {self._directory()}/{row.file}.so"
        name, gap, old_identifier, blank, quote, path, end = (
            part.decode("latin-1") for part in match.groups()
        )
        wide = len(blank) > 1 and "\t" not in blank
        blank = " " * max(1, len(old_identifier) + len(blank) - len(identifier)) if wide else blank
        directory = path.rpartition("/")[0] or "modules"
        return f"{name}{gap}{identifier}{blank}{quote}{directory}/{row.file}.so{end}"

    def insertion(self, row: ModuleEntry) -> tuple[Statement, FileEdit] | None:
        """Return the statement beside which the line for *row* is inserted, and the edit."""
        lines = [self.format_line(row.identifier)]
        if row.kind == "mpm" and self.may_have_mpm():
            lines = [
                *(f"<IfModule !{identifier}>" for identifier in UNIX_MPMS),
                *("    " + text for text in lines),
                *["</IfModule>"] * len(UNIX_MPMS),
            ]
        versions = next(
            (
                statement
                for statement in top_level(self.tree)
                if statement.name == "<ifversion" and statement.file.role is Role.MAIN
            ),
            None,
        )
        if self.also_22 and row.identifier == "version_module" and versions is not None:
            while versions.parent is not None:
                versions = versions.parent
            return versions, insert_above_comment(
                versions, ["<IfModule !mod_version.c>", *("    " + text for text in lines), "</IfModule>"]
            )
        if self.also_22:
            lines = ["<IfVersion >= 2.4>", *("    " + text for text in lines), "</IfVersion>"]
        if row.kind == "mpm" or self.template is None or self.is_debian:
            placement = self._early_insertion(lines, mpm=row.kind == "mpm")
        else:
            last = self._checker_before_ssl(row.identifier) or self._last_load_line()
            placement = last, last.insert_after(lines)
        if placement is not None and row.identifier == "authz_core_module":
            core_test = self._first_core_test_before(placement[0])
            return (core_test, insert_above_comment(core_test, lines)) if core_test is not None else placement
        return placement

    def _checker_before_ssl(self, identifier: str) -> Statement | None:
        """Return the line of mod_authz_host for mod_access_compat if mod_ssl is loaded behind it, else None.

        With SSLOptions +StrictRequire mod_ssl refuses for good where it is the first access checker that
        refuses, and these run in the order of the LoadModule lines.
        """
        strict = (line.args.lower() for line in self.tree.named("ssloptions"))
        if identifier != "access_compat_module" or not any("strictrequire" in text for text in strict):
            return None
        found = [line for line in self.lines if not any(line.enclosing())]
        names = [line.words()[0] for line in found if line.words()]
        if "authz_host_module" not in names or "ssl_module" not in names:
            return None
        at = names.index("authz_host_module")
        return found[at] if at < names.index("ssl_module") else None

    def _first_core_test_before(self, place: Statement) -> Statement | None:
        """Return the first line of the main file before *place* at which a branch tests mod_authz_core: it
        must be loaded there."""
        for statement in top_level(self.tree):
            if statement is place:
                return None
            if statement.file.role is Role.MAIN and _tests_core(statement):
                while statement.parent is not None:
                    statement = statement.parent
                return statement
        return None

    def _last_load_line(self) -> Statement:
        """Return the last unconditional LoadModule line of the main file, else of the model's file, else the
        model.

        The main file stays: a file of one product may go with that product.
        """
        assert self.template is not None
        main = main_statements(self.tree)
        files = [main[0].file] if main else []
        for file in (*files, self.template.file):
            same = [line for line in self.lines if line.file is file and not any(line.enclosing())]
            if same:
                return same[-1]
        return self.template

    def _early_insertion(self, lines: list[str], *, mpm: bool) -> tuple[Statement, FileEdit] | None:
        """Return the edit before the first LoadModule line; an MPM also goes before the branches that test
        it."""
        for statement in top_level(self.tree):
            if statement.file.role is not Role.MAIN:
                continue
            if statement in self.lines or (mpm and _tests_mpm(statement)):
                outer = statement
                while self.is_debian and outer.parent is not None:
                    outer = outer.parent
                return outer, insert_above_comment(outer, lines)
        main = main_statements(self.tree)
        roots = [statement for statement in main if statement.name == "serverroot"]
        if roots:
            return roots[0], roots[0].insert_after(lines)
        return (main[0], main[0].insert_before(lines)) if main else None


def _tests_mpm(statement: Statement) -> bool:
    if not is_branch(statement) or statement.name != "<ifmodule":
        return False
    return _MPM_TEST.fullmatch(statement.args.strip()) is not None or any(map(_tests_mpm, statement.children))


def _tests_core(statement: Statement) -> bool:
    if statement.name == "<ifmodule" and statement.args.strip() in _CORE_TESTS:
        return True
    return statement.is_section and any(map(_tests_core, statement.children))


def load_module_lines(tree: ConfigTree) -> LoadModuleLines:
    """Return the LoadModule lines of *tree*, computed once."""
    cached = tree.cache.get("loading")
    if isinstance(cached, LoadModuleLines):
        return cached
    lines = [
        line
        for line in tree.named("loadmodule", include_inactive=True)
        if line.file.role is Role.MAIN and len(line.words()) == 2
    ]
    lines_24 = [line for line in lines if line.in_24 is not False]
    template = _template(lines_24)
    load_lines = LoadModuleLines(
        tree,
        frozenset(tree.modules),
        frozenset(line.words()[0] for line in lines_24),
        [line for line in lines_24 if not any(line.enclosing())],
        lines_24,
        template,
        _is_debian(tree, template),
        is_of_suse(tree),
    )
    tree.cache["loading"] = load_lines
    return load_lines


def _template(lines: list[Statement]) -> Statement | None:
    """Return the line whose form and directory new lines copy: of httpd's own modules outside of branches the
    last one in their usual directory. A third-party module may lie in a directory of its own.
    """
    httpd_modules = {row.identifier for row in _MODELS}
    own = [line for line in lines if line.words()[0] in httpd_modules]
    own = [line for line in own if line.words()[0] not in THIRD_PARTY_22] or own
    own = [line for line in own if not any(line.enclosing())] or own
    directories = [line.words()[1].rpartition("/")[0] for line in own]
    commonest = max(reversed(directories), key=directories.count, default="")
    same = [line for line, directory in zip(own, directories, strict=True) if directory == commonest]
    return same[-1] if same else None


def _is_debian(tree: ConfigTree, template: Statement | None) -> bool:
    """Return True for Debian's layout, by the file of a LoadModule line, or by the name of the main file
    without one."""
    if template is not None:
        return template.file.path.endswith(".load")
    return any(statement.file.path.endswith("/apache2.conf") for statement in tree.statements[:1])
