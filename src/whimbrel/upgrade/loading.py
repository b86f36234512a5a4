"""LoadModule lines: what is loaded, where and how a further line is written."""

from __future__ import annotations

import os
import re
from typing import Final

from whimbrel.catalogue import ModuleRow, catalogue
from whimbrel.octets import raw
from whimbrel.records import dataclass
from whimbrel.upgrade.estate import Estate, Role, Statement
from whimbrel.upgrade.mending import above, is_branch, main_statements, top_level
from whimbrel.upgrade.model import FileEdit

BUILT_IN: Final = frozenset({"log_config_module", "logio_module", "version_module", "unixd_module", "watchdog_module"})
"""Modules that Debian compiles in: a LoadModule line for one of them is an error there."""
_DEBIAN: Final = "/usr/lib/apache2/modules"
_MPM_TEST: Final = re.compile(r"!?(?:prefork|worker|event)\.c|!?mpm_\w+_module", re.IGNORECASE)
_CORE_TESTS: Final = frozenset({"mod_authz_core.c", "!mod_authz_core.c", "authz_core_module", "!authz_core_module"})
_LINE: Final = re.compile(rb"[ \t]*([^ \t]+)([ \t]+)([^ \t]+)([ \t]+)(\"?)(.*?)(\"?)[ \t\r\n]*")
_MODELS: Final = tuple(catalogue("2.2").modules) + tuple(catalogue("2.4").modules)


@dataclass(slots=True, eq=False)
class Loading:
    """The LoadModule lines of one configuration.

    *old* are identifiers that 2.2 loads or has in it, *new* those that 2.4 loads in some case; *model* is the line whose form others
    take, None where there is none.  *debian*: modules are switched on by links to files of their own (``mods-enabled/x.load``).
    """

    estate: Estate
    old: frozenset[str]
    new: frozenset[str]
    lines: list[Statement]
    model: Statement | None
    debian: bool

    @property
    def guarded(self) -> bool:
        return self.estate.wishes.also_22

    def built_in(self, identifier: str) -> bool:
        """Whether the 2.4 that this is for has the module in its binary, as far as the folder of modules shows."""
        if identifier not in BUILT_IN:
            return False
        folder = self._folder()
        if self.debian or folder.startswith(_DEBIAN):
            return True
        return self._lacks(folder, identifier)

    def refuses(self, line: Statement) -> bool:
        """Whether the LoadModule line names a module that the 2.4 on this machine has in its binary: the start fails there."""
        identifier, path = line.words()
        return identifier in BUILT_IN and self._lacks(path.rpartition("/")[0], identifier)

    def _lacks(self, folder: str, identifier: str) -> bool:
        """Whether *folder* holds the modules of a 2.4, but not that one."""
        row = catalogue("2.4").module(identifier)
        path = folder if folder.startswith("/") else os.path.join(self.estate.root, folder)
        at_hand = os.path.exists(raw(f"{path}/mod_authz_core.so"))
        return at_hand and row is not None and not os.path.exists(raw(f"{path}/{row.file}.so"))

    def _folder(self) -> str:
        if self.model is not None:
            return self.model.words()[1].rpartition("/")[0]
        return _DEBIAN if self.debian else "modules"

    def line(self, identifier: str) -> str:
        """The line that loads *identifier*, in the form of those that are there."""
        row = catalogue("2.4").module(identifier)
        assert row is not None
        found = None
        if self.model is not None:
            node = self.model.node
            found = _LINE.fullmatch(self.model.file.document.bytes[node.start:node.end])
        if found is None:
            return f"LoadModule {identifier} {self._folder()}/{row.file}.so"
        name, gap, old, blank, quote, path, end = (part.decode("latin-1") for part in found.groups())
        wide = len(blank) > 1 and "\t" not in blank
        blank = " " * max(1, len(old) + len(blank) - len(identifier)) if wide else blank
        folder = path.rpartition("/")[0] or "modules"
        return f"{name}{gap}{identifier}{blank}{quote}{folder}/{row.file}.so{end}"

    def insertion(self, row: ModuleRow) -> tuple[Statement, FileEdit] | None:
        """Where the line for *row* goes, and the edit that puts it there."""
        lines = [self.line(row.identifier)]
        versions = next((one for one in top_level(self.estate) if one.name == "<ifversion" and one.file.role is Role.MAIN), None)
        if self.guarded and row.identifier == "version_module" and versions is not None:
            while versions.parent is not None:
                versions = versions.parent
            return versions, above(versions, ["<IfModule !mod_version.c>", *("    " + text for text in lines), "</IfModule>"])
        if self.guarded:
            lines = ["<IfVersion >= 2.4>", *("    " + text for text in lines), "</IfVersion>"]
        if row.kind == "mpm" or self.model is None or self.debian:
            made = self._early(lines, mpm=row.kind == "mpm")
        else:
            last = self._last()
            made = last, last.after(lines)
        if made is not None and row.identifier == "authz_core_module":
            asking = self._asked_before(made[0])
            return (asking, above(asking, lines)) if asking is not None else made
        return made

    def _asked_before(self, place: Statement) -> Statement | None:
        """The line of the main file, before *place*, at which a branch first asks for mod_authz_core: it must be loaded there."""
        for statement in top_level(self.estate):
            if statement is place:
                return None
            if statement.file.role is Role.MAIN and _asks_core(statement):
                while statement.parent is not None:
                    statement = statement.parent
                return statement
        return None

    def _last(self) -> Statement:
        """The last unconditional LoadModule line of the model's file, or the model."""
        assert self.model is not None
        same = [line for line in self.lines if line.file is self.model.file and not any(line.enclosing())]
        return same[-1] if same else self.model

    def _early(self, lines: list[str], *, mpm: bool) -> tuple[Statement, FileEdit] | None:
        """Before the first LoadModule line; an MPM before what asks which one is there, too."""
        for statement in top_level(self.estate):
            if statement.file.role is not Role.MAIN:
                continue
            if statement in self.lines or (mpm and _asks_mpm(statement)):
                outer = statement
                while self.debian and outer.parent is not None:
                    outer = outer.parent
                return outer, above(outer, lines)
        own = main_statements(self.estate)
        roots = [statement for statement in own if statement.name == "serverroot"]
        if roots:
            return roots[0], roots[0].after(lines)
        return (own[0], own[0].before(lines)) if own else None


def _asks_mpm(statement: Statement) -> bool:
    if not is_branch(statement) or statement.name != "<ifmodule":
        return False
    return _MPM_TEST.fullmatch(statement.args.strip()) is not None or any(map(_asks_mpm, statement.children))


def _asks_core(statement: Statement) -> bool:
    if statement.name == "<ifmodule" and statement.args.strip() in _CORE_TESTS:
        return True
    return statement.is_section and any(map(_asks_core, statement.children))


def loading(estate: Estate) -> Loading:
    """The LoadModule lines of *estate*, worked out once."""
    known = estate.memo.get("loading")
    if isinstance(known, Loading):
        return known
    lines = [line for line in estate.named("loadmodule", dead=True) if line.file.role is Role.MAIN and len(line.words()) == 2]
    new = [line for line in lines if line.in_24 is not False]
    known_to = {row.identifier for row in _MODELS}
    models = [line for line in new if line.words()[0] in known_to and not any(line.enclosing())] or \
        [line for line in new if line.words()[0] in known_to]
    model = models[-1] if models else None
    made = Loading(
        estate, frozenset(estate.modules), frozenset(line.words()[0] for line in new), [line for line in new if not any(line.enclosing())], model,
        _is_debian(estate, model))
    estate.memo["loading"] = made
    return made


def _is_debian(estate: Estate, model: Statement | None) -> bool:
    """By the file that a LoadModule line stands in; without any, by the name of the main file."""
    if model is not None:
        return model.file.path.endswith(".load")
    return any(statement.file.path.endswith("/apache2.conf") for statement in estate.statements[:1])
