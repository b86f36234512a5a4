"""Modules that the text needs under 2.4 and does not load: for its directives, for providers, and for other
modules.

Only needs that the text shows count. A directive that works without its LoadModule line shows a module
compiled into 2.2; in .htaccess files a directive without its module stays an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace
from whimbrel.catalogue import ModuleEntry, catalogue
from whimbrel.syntax.words import getword
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.edits.load_module import LoadModuleLines, load_module_lines
from whimbrel.upgrade.model import FileEdit, Finding, Risk, Safety
from whimbrel.upgrade.source.built_in_modules import is_windows
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, Statement
from whimbrel.upgrade.source.queries import was_24_config

ALWAYS_LOADED: Final = frozenset({"core_module", "so_module", "http_module", "watchdog_module"})

_CORE: Final = "authz_core_module"
_NO_MPM: Final = "2.4 does not start without an MPM (AH00534: No MPM loaded)"
_REQUIRE: Final = {
    "all": "authz_core",
    "env": "authz_core",
    "method": "authz_core",
    "expr": "authz_core",
    "ip": "authz_host",
    "host": "authz_host",
    "local": "authz_host",
    "forward-dns": "authz_host",
    "user": "authz_user",
    "valid-user": "authz_user",
    "group": "authz_groupfile",
    "file-owner": "authz_owner",
    "file-group": "authz_owner",
    "dbm-group": "authz_dbm",
    "dbm-file-group": "authz_dbm",
    "dbd-group": "authz_dbd",
    "dbd-login": "authz_dbd",
    "dbd-logout": "authz_dbd",
    "ldap-user": "authnz_ldap",
    "ldap-group": "authnz_ldap",
    "ldap-dn": "authnz_ldap",
    "ldap-attribute": "authnz_ldap",
    "ldap-filter": "authnz_ldap",
    "ldap-search": "authnz_ldap",
}
_PASSWORDS: Final = {
    "file": "authn_file",
    "dbm": "authn_dbm",
    "dbd": "authn_dbd",
    "anon": "authn_anon",
    "ldap": "authnz_ldap",
    "socache": "authn_socache",
}
_TYPES: Final = {"basic": "auth_basic", "digest": "auth_digest", "form": "auth_form"}
_HANDLERS: Final = {
    "server-status": "status",
    "whimbrel-metrics": "status",
    "server-info": "info",
    "cgi-script": "cgi",
    "send-as-is": "asis",
    "imap-file": "imagemap",
    "server-parsed": "include",
    "ldap-status": "ldap",
    "balancer-manager": "proxy_balancer",
    "includes": "include",
    "deflate": "deflate",
    "inflate": "deflate",
    "substitute": "substitute",
}
_HANDLER_LINES: Final = frozenset(
    {"sethandler", "addhandler", "setoutputfilter", "addoutputfilter", "setinputfilter", "addinputfilter"}
)
_WITH_WORDS: Final = _HANDLER_LINES | {
    *("require", "authtype", "authbasicprovider", "authdigestprovider", "authformprovider"),
    *("sslsessioncache", "sslstaplingcache", "authncachesocache", "cachesocache"),
    *("proxypass", "proxypassmatch", "proxyset", "balancermember", "<proxy"),
    *("threadsperchild", "minsparethreads", "maxsparethreads", "threadlimit"),
}
"""Directives whose words name what a module of its own does."""
_ALSO: Final = {
    "proxy_balancer_module": ("slotmem_shm_module",),
    "authnz_ldap_module": ("ldap_module",),
    "file_group": ("authz_groupfile_module",),
}
_TYPED: Final = re.compile(r"expr=-z %\{CONTENT_TYPE\}")
"""A type in a Header line that replaces DefaultType."""
_LBMETHOD: Final = re.compile(r"\blbmethod=(\w+)", re.IGNORECASE)
_BALANCER: Final = re.compile(r"\bbalancer://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NeededModule:
    """One module that must be loaded.

    *rule_number* is the row of the table of changes, *why* the reason as text, *line* the statement that
    shows it (None: every 2.4 needs it). *risk* is the effect of its absence; *fails_requests*: 2.4 starts and
    answers requests with 500. *is_of_edit*: the text needs it since an edit, not as it was read.
    """

    identifier: str
    rule_number: str
    why: str
    line: Statement | None = None
    risk: Risk = Risk.BREAKS
    fails_requests: bool = False
    is_of_edit: bool = False

    def at_worst(self, other: NeededModule) -> NeededModule:
        """Return the need with the worse effect of both, shown by a line that was read if one does."""
        first, second = ((need.risk.rank, need.fails_requests) for need in (self, other))
        worst = self if first <= second else other
        shown = other if self.is_of_edit and not other.is_of_edit else self
        return replace(shown, risk=worst.risk, fails_requests=worst.fails_requests)


def needed_modules(tree: ConfigTree) -> list[NeededModule]:
    """Return the missing modules, computed once; modules that others depend on come first."""
    cached = tree.cache.get("needs")
    if isinstance(cached, list):
        return cached
    load_lines = load_module_lines(tree)
    missing: dict[str, NeededModule] = {}
    is_known = tree.modules_unread is None  # else a file that was not read may load each
    if is_known and any(file.role is Role.MAIN for file in tree.files.values()):
        for need in _NeedSearch(tree, load_lines).all():
            if need.identifier not in load_lines.identifiers_24 and not load_lines.is_built_in(
                need.identifier
            ):
                is_written = need.line is not None and tree.is_written(need.line.place)
                need = replace(need, is_of_edit=is_written)
                missing[need.identifier] = missing.get(need.identifier, need).at_worst(need)
    ordered = [_of_edit(tree, need) for need in _ordered(missing)]
    tree.cache["needs"] = ordered
    return ordered


def _of_edit(tree: ConfigTree, need: NeededModule) -> NeededModule:
    """Return *need*, marked if a line shows it that an edit wrote, and the text as it was read does not."""
    if not need.is_of_edit or tree.original is None:
        return need
    is_of_source = need.identifier in {other.identifier for other in needed_modules(tree.original)}
    return replace(need, is_of_edit=not is_of_source)


def _ordered(missing: dict[str, NeededModule]) -> list[NeededModule]:
    """Return the modules in an order in which each follows the one that it requires."""
    out: dict[str, NeededModule] = {}
    for need in missing.values():
        before = _module_entry(need.identifier).needs
        if before in missing:
            out.setdefault(before, missing[before])
        out.setdefault(need.identifier, need)
    return list(out.values())


def _module_entry(identifier: str) -> ModuleEntry:
    row = catalogue("2.4").module(identifier)
    assert row is not None, identifier
    return row


class _NeedSearch:
    def __init__(self, tree: ConfigTree, load_lines: LoadModuleLines) -> None:
        self.tree = tree
        self.load_lines = load_lines
        self.built_in = tree.built_in.modules
        self.catalogue_22 = catalogue("2.2")
        self.catalogue_24 = catalogue("2.4")
        self.identifier_by_source = {row.source: row.identifier for row in self.catalogue_24.modules}
        self.identifier_by_source_22 = {row.source: row.identifier for row in self.catalogue_22.modules}
        self.kinds = {row.identifier: row.kind for row in self.catalogue_24.modules}
        self.owners: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.reported: set[str] = set()
        self.named: set[str] = set()  # modules that a word needs; the first line is reported
        self.threads_directive: str = ""

    def all(self) -> Iterator[NeededModule]:
        """Yield every need, fulfilled ones too."""
        needs_of_statements = list(self._of_statements())
        if not is_windows(self.tree):
            yield self._mpm()
        yield NeededModule(
            _CORE,
            "C05",
            "2.4 decides about access with it",
            fails_requests=_starts_without_core(self.tree, needs_of_statements),
        )
        if not is_windows(self.tree):
            yield NeededModule(
                "unixd_module", "C45", "User and Group are its directives, and no 2.4 starts without it"
            )
        yield from (need for need in needs_of_statements if need.identifier != _CORE)
        yield from self._unnamed()
        shown_by = {line.words()[0]: line for line in self.load_lines.all_lines}
        shown_by.update({need.identifier: need.line for need in needs_of_statements if need.line is not None})
        for identifier in [
            *self.load_lines.identifiers_24,
            *(need.identifier for need in needs_of_statements),
        ]:
            for other in _ALSO.get(identifier, ()):
                yield NeededModule(
                    other,
                    "C03" if other.startswith("slotmem") else "C04",
                    f"{_file_name(identifier)} needs it",
                    shown_by.get(identifier),
                )

    def _unnamed(self) -> Iterator[NeededModule]:
        """Yield modules in the 2.2 binary that work without a directive."""
        wanted = {
            "dir_module": "it appends slashes and serves index files",
            "mime_module": "it gives files their types",
        }
        options = {word.lower().lstrip("+") for line in self.tree.named("options") for word in line.words()}
        if options & {"indexes", "all"} or not options:
            wanted["autoindex_module"] = "it lists directories"
        if "multiviews" in options:
            wanted["negotiation_module"] = "it handles MultiViews"
        if self.tree.has("scriptalias", "scriptaliasmatch"):
            wanted["cgi_module"] = "it runs the programs of ScriptAlias"
        if self.tree.missing_roots:
            root = self.tree.missing_roots[0]
            why = f"{root} was not read, and .htaccess files with Order and Allow may be in it"
            yield NeededModule("access_compat_module", "C05", why, risk=Risk.CLOSES)
        for identifier, why in wanted.items():
            if identifier in self.built_in:
                yield NeededModule(
                    identifier,
                    "C04",
                    f"2.2 has it compiled in ({self.tree.built_in.origin}): {why}",
                    risk=Risk.CHANGES,
                )

    # directives ----------------------------------------------------------------------------------
    def _of_statements(self) -> Iterator[NeededModule]:
        for statement in self.tree.all_statements():
            if statement.in_24 is False or not self._is_executed(statement):
                continue
            owners = self.owners.get(statement.name)
            if owners is None:
                owners = self._owners(statement.name)
                self.owners[statement.name] = owners
            if owners[1] and statement.name not in self.reported:
                yield from self._of_directive(statement, *owners)
            if statement.name in _WITH_WORDS:
                for need in self._of_words(statement):
                    self.named.add(need.identifier)
                    yield need

    def _is_executed(self, statement: Statement) -> bool:
        """Return True if 2.4 executes the line, or should: <IfModule> may test a module that another line
        loads."""
        if statement.in_24:
            return True
        for section in statement.enclosing("<ifmodule"):
            name = section.args.strip()
            identifier = self.identifier_by_source.get(name, name)
            if (
                name[:1] != "!"
                and identifier not in self.load_lines.identifiers_24
                and identifier not in self.built_in
            ):
                return False
        return statement.file.role is not Role.FRAGMENT

    def _owners(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the modules of 2.2 and 2.4 with the directive; none if 2.4's core or an MPM has it."""
        owners_24 = tuple(
            self.identifier_by_source[row.source]
            for row in self.catalogue_24.find(name)
            if row.source in self.identifier_by_source
        )
        owners_22 = tuple(
            self.identifier_by_source_22.get(row.source, "core_module")
            for row in self.catalogue_22.find(name)
        )
        if any(identifier in ALWAYS_LOADED for identifier in owners_24):
            return owners_22, ()
        return owners_22, tuple(identifier for identifier in owners_24 if self.kinds[identifier] != "mpm")

    def _of_directive(
        self, statement: Statement, owners_22: tuple[str, ...], owners_24: tuple[str, ...]
    ) -> Iterator[NeededModule]:
        if any(identifier in self.load_lines.identifiers_24 for identifier in owners_24):
            self.reported.add(statement.name)
            return
        was_available = any(
            identifier in self.load_lines.identifiers_22 or self.kinds.get(identifier) == "mpm"
            for identifier in owners_22
        )
        if owners_22 and not was_available:
            if not _TYPED.search(statement.args) and (
                statement.file.role is not Role.MAIN or statement.in_22 is False
            ):
                return
        owners_24 = tuple(i for i in owners_24 if i in owners_22) or owners_24
        if not owners_22 and statement.file.role is Role.HTACCESS and owners_24[0] != "authz_core_module":
            return  # 2.2 refuses the line
        where = statement.node.name if not statement.is_section else f"<{statement.node.name}>"
        if not self.tree.is_written(statement.place):  # a later line may show it as it was read
            self.reported.add(statement.name)
        yield NeededModule(
            owners_24[0],
            _rule_number_of(owners_24[0], moved=owners_24[0] not in owners_22),
            f"{where} is its directive",
            statement,
        )

    # words ---------------------------------------------------------------------------------------
    def _of_words(self, line: Statement) -> Iterator[NeededModule]:
        name = line.name
        if name == "require":
            yield from self._named(line, _REQUIRE, [_required(line.args)], "Require")
        elif name in ("authbasicprovider", "authdigestprovider", "authformprovider"):
            yield from self._named(line, _PASSWORDS, line.words(), line.node.name)
        elif name == "authtype":
            yield from self._named(line, _TYPES, [line.args.strip().strip('"')], "AuthType")
        elif name in ("sslsessioncache", "sslstaplingcache", "authncachesocache", "cachesocache"):
            yield from self._cache(line)
        elif name in ("proxypass", "proxypassmatch", "proxyset", "balancermember", "<proxy"):
            yield from self._balancer(line)
        elif name in _HANDLER_LINES:
            words = [word for part in line.words() for word in part.split(";")]
            needed = self._named(line, _HANDLERS, words, line.node.name)
            yield from (
                need for need in needed if not self.load_lines.lines or need.identifier in self.built_in
            )
        elif name in ("threadsperchild", "minsparethreads", "maxsparethreads", "threadlimit"):
            self.threads_directive = self.threads_directive or ("" if _asks_for_mpm(line) else line.node.name)

    def _named(
        self, line: Statement, table: dict[str, str], words: list[str], what: str
    ) -> Iterator[NeededModule]:
        for word in words:
            module = table.get(word if what == "Require" else word.lower())
            if module is None or f"{module}_module" in self.named:
                continue
            if what == "Require" or line.file.role is Role.MAIN:
                yield NeededModule(
                    f"{module}_module",
                    _rule_number_of(f"{module}_module"),
                    f"`{what} {word}` needs it",
                    line,
                    Risk.CHANGES if table is _HANDLERS else Risk.BREAKS,
                    fails_requests=table is _TYPES,
                )
                if word == "file-group":
                    yield NeededModule(
                        "authz_groupfile_module", "C04", "`Require file-group` uses its groups", line
                    )

    def _cache(self, line: Statement) -> Iterator[NeededModule]:
        kind = getword(line.args)[0].partition(":")[0].lower()
        identifier = f"socache_{kind}_module"
        if self.catalogue_24.module(identifier) is not None:
            yield NeededModule(identifier, "C05", f"`{line.node.name} {kind}` stores its entries there", line)

    def _balancer(self, line: Statement) -> Iterator[NeededModule]:
        methods = [name.lower() for name in _LBMETHOD.findall(line.args)]
        for method in methods:
            identifier = f"lbmethod_{method}_module"
            if self.catalogue_24.module(identifier) is not None:
                yield NeededModule(identifier, "C03", f"`lbmethod={method}` is a separate module", line)
        if (
            not methods
            and _BALANCER.search(line.args)
            and "proxy_balancer_module" in self.load_lines.identifiers_24
        ):
            yield NeededModule(
                "lbmethod_byrequests_module",
                "C03",
                "a balancer without lbmethod counts requests, with a separate module",
                line,
            )

    # the MPM -------------------------------------------------------------------------------------
    def _mpm(self) -> NeededModule:
        for row in self.catalogue_24.modules:
            if row.kind == "mpm" and row.identifier in self.load_lines.identifiers_24:
                return NeededModule(row.identifier, "C05", "")
        tests = {s.args.strip().lower() for s in self.tree.named("<ifmodule", include_inactive=True)}
        if self.threads_directive:
            return NeededModule(
                "mpm_worker_module",
                "C05",
                f"{_NO_MPM}; {self.threads_directive} is for processes with threads",
            )
        if {
            "cgid_module"
        } <= self.load_lines.identifiers_24 and "cgi_module" not in self.load_lines.identifiers_24:
            return NeededModule(
                "mpm_worker_module",
                "C05",
                f"{_NO_MPM}; mod_cgid needs processes with threads",
            )
        for mpm in ("worker", "event"):
            names = {f"{mpm}.c", f"mpm_{mpm}_module"}
            if tests & names and not tests & {"prefork.c", "mpm_prefork_module"} | tests & (
                {"event.c"} if mpm == "worker" else set()
            ):
                return NeededModule(
                    f"mpm_{mpm}_module", "C05", f"{_NO_MPM}; the text has limits for {mpm} only"
                )
        is_for_prefork = bool(tests & {"prefork.c", "mpm_prefork_module"}) or any(
            identifier.startswith("php") for identifier in self.load_lines.identifiers_24
        )
        if was_24_config(self.tree) and not is_for_prefork:
            return NeededModule("mpm_event_module", "C05", f"{_NO_MPM}; event is the default of 2.4")
        return NeededModule("mpm_prefork_module", "C05", f"{_NO_MPM}; prefork is the default of 2.2")


def _starts_without_core(tree: ConfigTree, needs: list[NeededModule]) -> bool:
    """Return True if no line of the server was a directive of mod_authz_core before the first edit.

    The Require lines that other rules write are such directives.
    """
    persistent = tree.cache.setdefault("persistent", {})
    assert isinstance(persistent, dict)
    is_read_at_start = any(
        need.identifier == _CORE and need.line is not None and need.line.file.role is Role.MAIN
        for need in needs
    )
    return bool(persistent.setdefault("starts without authz_core", not is_read_at_start))


def _asks_for_mpm(line: Statement) -> bool:
    return any(
        re.fullmatch(r"!?(?:\w+\.c|mpm_\w+)", s.args.strip()) and "mod_" not in s.args
        for s in line.enclosing("<ifmodule")
    )


def _required(args: str) -> str:
    word, at = getword(args)
    return getword(args, at)[0] if word.lower() == "not" else word


def _rule_number_of(identifier: str, *, moved: bool = False) -> str:
    """Return the row of the table of changes about a missing module; *moved*: 2.2 had its
    function elsewhere."""
    if identifier.startswith(("lbmethod_", "slotmem_")):
        return "C03"
    if identifier == "cache_disk_module":
        return "C02"
    return "C04" if not moved and catalogue("2.2").module(identifier) is not None else "C05"


def _file_name(identifier: str) -> str:
    return _module_entry(identifier).file


def missing_module_findings(tree: ConfigTree, number: str) -> Iterator[Finding]:
    """Yield the findings of the rule *number*: one for each missing module."""
    load_lines = load_module_lines(tree)
    for need in needed_modules(tree):
        if need.rule_number != number:
            continue
        row = _module_entry(need.identifier)
        insertion = load_lines.insertion(row)
        if insertion is None:
            continue
        at, edit = insertion
        place = need.line.place if need.line is not None else at.place
        unless = " unless `httpd -l` lists an MPM" if row.kind == "mpm" and load_lines.may_have_mpm() else ""
        finding = Finding(
            number,
            place,
            f"{row.file} is not loaded: {need.why}",
            f"load it{unless}: `{load_lines.format_line(need.identifier).strip()}`, {_where(tree, edit)}",
            need.risk,
            Safety.SAFE,
            (edit,),
            fails_requests=need.fails_requests,
            is_part=need.is_of_edit,
        )
        if load_lines.is_debian:
            name = row.file.removeprefix("mod_")
            finding = replace(
                finding,
                advice=f"load it with `a2enmod {name}`, or with this line {_where(tree, edit)}",
            )
        yield finding


def _where(tree: ConfigTree, edit: FileEdit) -> str:
    """Return the place of an inserted line in the text as it was read."""
    text = tree.files[edit.path].document.bytes
    line = SourceLocation(edit.path, text.count(b"\n", 0, edit.edit.start) + 1)
    at = tree.original_place(line)
    return f"at {display_path(at.path, tree.top)}:{at.line}"
