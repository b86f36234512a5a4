"""The sections and .htaccess files of a configuration tree with lines about access, and their patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.access.chains import SectionChain
from whimbrel.access.layers import AccessLayer, AccessLine, is_access_line
from whimbrel.access.sections import Override, RequestSection, SectionInventory, absolute_path
from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field, replace
from whimbrel.base.regex import RegexError, compile_regex, without_end
from whimbrel.config.model import SectionKind
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.user_directories import user_paths
from whimbrel.upgrade.model import InputContext
from whimbrel.upgrade.source.conditions import (
    TRANSPARENT,
    Condition,
    Literal,
    Values,
    is_contradictory,
    is_lost,
    literals,
)
from whimbrel.upgrade.source.config_tree import ConfigTree, Role, SourceFile, Statement
from whimbrel.upgrade.source.overrides import merge_overrides
from whimbrel.upgrade.source.serving_hosts import serving_hosts

_KINDS: Final = {
    "<directory": SectionKind.DIRECTORY,
    "<directorymatch": SectionKind.DIRECTORY_MATCH,
    "<files": SectionKind.FILES,
    "<filesmatch": SectionKind.FILES_MATCH,
    "<location": SectionKind.LOCATION,
    "<locationmatch": SectionKind.LOCATION_MATCH,
}
_HOST_ROOTS: Final = frozenset({"virtualdocumentroot", "virtualdocumentrootip"})
_LEAVING: Final = frozenset("r redirect f forbidden g gone p proxy".split())
"""Flags of RewriteRule behind which no file is served."""
_MAPPING: Final = _HOST_ROOTS | {"documentroot", "alias", "scriptalias", "wsgiscriptalias"}
_PROXIES: Final = {"<proxy": SectionKind.LOCATION, "<proxymatch": SectionKind.LOCATION_MATCH}
# arguments for 2.2 that match no client's name; 2.4 refuses them
_COMMENT: Final = re.compile(r"(?<![ \t])[ \t]++#.*")
# a pattern that is bound at both ends and repeats nothing matches a few names
_SINGLE_NAMES: Final = re.compile(r"\^(?:[^\\*+?\[\]{}^$.]|\\[^a-zA-Z0-9])*\$")
_MATCHES: Final = frozenset(
    {SectionKind.DIRECTORY_MATCH, SectionKind.FILES_MATCH, SectionKind.LOCATION_MATCH}
)


@dataclass(slots=True, eq=False, kw_only=True)
class AccessSection(RequestSection):
    """One section or .htaccess file with its lines about access and its statements in the source.

    Attributes:
        file: the file that the section stands in; the .htaccess file itself.
        statement: the section; None for a .htaccess file.
        conditions: the open conditions of the branches around the section, within its server.
        unsettled: the reason why the section must keep its text.
        lines: the statements about access directly in the section, those of open branches included.
        lines_24_only: the statements about access that 2.4 alone executes.
        override_lines: the AllowOverride lines of the section.
    """

    file: SourceFile
    statement: Statement | None = None
    outer: AccessSection | None = None
    server: Statement | None = None
    conditions: tuple[Literal, ...] = ()
    unsettled: str = ""
    lines: list[Statement] = field(default_factory=list)
    lines_24_only: list[Statement] = field(default_factory=list)
    override_lines: list[Statement] = field(default_factory=list)
    _access_lines: tuple[AccessLine, ...] | None = field(default=None, repr=False)
    _is_upgraded: bool | None = field(default=None, repr=False)
    _choices: tuple[Condition, ...] | None = field(default=None, repr=False)
    _branches: tuple[tuple[Literal, ...], ...] | None = field(default=None, repr=False)
    _access_lines_24: tuple[AccessLine, ...] | None = field(default=None, repr=False)

    @property
    def in_main_server(self) -> bool:
        """Return True if the section belongs to every server."""
        return self.in_htaccess or self.server is None

    @property
    def has_lines(self) -> bool:
        """Return True if the section has lines about access."""
        return bool(self.lines)

    @property
    def has_proxy_pass(self) -> bool:
        """Return True if a ProxyPass line stands in the section."""
        children = self.statement.children if self.statement is not None else ()
        return any(child.name == "proxypass" for child in children)

    @property
    def has_overrides(self) -> bool:
        """Return True if an AllowOverride line stands in the section."""
        return bool(self.override_lines)

    def merge_override(self, override: Override) -> Override:
        """Return *override* with the AllowOverride lines of the section merged."""
        return merge_overrides(override, self.override_lines)

    @property
    def access_lines(self) -> tuple[AccessLine, ...]:
        """The lines as `access` reads them; valid once all lines are known."""
        if self._access_lines is None:
            self._access_lines = to_access_lines(self.lines)
        return self._access_lines

    @property
    def access_lines_24(self) -> tuple[AccessLine, ...]:
        """The lines that 2.4 executes in the present text; valid once all lines are known."""
        if self._access_lines_24 is None:
            self._access_lines_24 = to_access_lines_24(self.lines_24)
        return self._access_lines_24

    @property
    def choices(self) -> tuple[Condition, ...]:
        """The open conditions of the branches in the section, in the order of its lines; valid once all lines
        are known."""
        if self._choices is None:
            self._choices = tuple(
                dict.fromkeys(literal.condition for branch in self.branches for literal in branch)
            )
        return self._choices

    @property
    def branches(self) -> tuple[tuple[Literal, ...], ...]:
        """The open conditions around and in each line; valid once all lines are known."""
        if self._branches is None:
            self._branches = tuple(tuple(_inside(line, self.statement)) for line in self.lines)
        return self._branches

    @property
    def loses_lines(self) -> bool:
        """Return True if 2.4 may skip a line that 2.2 reads."""
        return any(is_lost(line, self.statement) for line in self.lines)

    def lines_under(self, values: Values) -> tuple[AccessLine, ...]:
        """Return the lines as 2.2 reads them under these *values* of the open conditions."""
        read = [
            line
            for line in self.lines
            if all(literal.holds(values) for literal in literals(line, self.statement))
        ]
        directives = ((to_access_line(line, values), line) for line in read)
        return tuple(
            line for line, statement in directives if line.children or not to_access_line(statement).children
        )

    @property
    def names_files(self) -> bool:
        """Return True for a <Files> or <FilesMatch> that names single files, not files of a kind."""
        if self.kind not in (SectionKind.FILES, SectionKind.FILES_MATCH):
            return False
        if self.regex is None:
            return not self.fnmatch
        return _SINGLE_NAMES.fullmatch(self.pattern) is not None

    @property
    def is_page(self) -> bool:
        """Return True for a <Location> that is one page of a handler (server-status): its URLs have
        no file."""
        literal = (
            self.kind is SectionKind.LOCATION
            and self.regex is None
            and not self.fnmatch
            and self.statement is not None
        )
        return literal and any(
            line.name == "sethandler"
            for line in open_branches(self.statement.children if self.statement is not None else ())
        )

    @property
    def in_htaccess(self) -> bool:
        """Return True if the lines stand in a .htaccess file."""
        return self.file.role is Role.HTACCESS

    @property
    def place(self) -> SourceLocation:
        """The location of the section; of a whole file the first line about access.

        An SSLOptions line resets StrictRequire, which is about access beside other lines alone.
        """
        if self.statement is not None:
            return self.statement.place
        about = [line for line in self.lines if line.name != "ssloptions"] or self.lines
        return SourceLocation(self.file.path, about[0].node.number if about else 1)

    @property
    def is_upgraded(self) -> bool:
        """Return True if the lines are those of 2.4: they use its words, or stand in a branch for 2.4.

        Such a section keeps its text; valid once all lines are known.
        """
        if self._is_upgraded is None:
            self._is_upgraded = bool(self.lines_24_only) or any(map(is_24_only, self.access_lines))
        return self._is_upgraded

    @property
    def is_surely_upgraded(self) -> bool:
        """Return True if more than words of Require show that the lines are those of 2.4."""
        return bool(self.lines_24_only) or any(is_24_only(line, words=False) for line in self.access_lines)

    @property
    def lines_24(self) -> list[Statement]:
        """The lines that 2.4 executes in the present text."""
        return [line for line in (*self.lines, *self.lines_24_only) if line.in_24 is not False]

    def layer(self, lines: tuple[AccessLine, ...] | None = None) -> AccessLayer:
        """Return the section as a layer of `access`, with other *lines* if given."""
        return AccessLayer(
            self.access_lines if lines is None else lines, self.kind, self.in_htaccess, self.place
        )


_WORDS_24: Final = frozenset(
    {
        "all",
        "ip",
        "host",
        "env",
        "method",
        "expr",
        "local",
        "not",
        "forward-dns",
        "internal-server-error",
        "dbm-group",
        "dbm-file-group",
    }
)
_NAMES_24: Final = frozenset({"requireall", "requireany", "requirenone", "authmerging"})


def is_24_only(line: AccessLine, *, words: bool = True) -> bool:
    """Return True if the line, or a line in it, is valid in 2.4 alone; *words* includes words of Require."""
    if line.name in _NAMES_24:
        return True
    if line.name == "require":
        return words and line.args.partition(" ")[0].lower() in _WORDS_24
    return any(is_24_only(child, words=words) for child in line.children)


def to_access_lines(statements: Iterable[Statement]) -> tuple[AccessLine, ...]:
    """Return statements as lines of `access`."""
    return tuple(to_access_line(statement) for statement in statements)


def to_access_lines_24(
    statements: Iterable[Statement], outer: Statement | None = None, values: Values | None = None
) -> tuple[AccessLine, ...]:
    """Return the statements that 2.4 executes as lines of `access`, with all lines of their containers.

    *values* select the branches within *outer* that are open.
    """
    lines: list[AccessLine] = []
    for statement in statements:
        is_taken = values is None or all(literal.holds(values) for literal in literals(statement, outer))
        if statement.in_24 is False or not is_taken:
            continue
        if statement.name in TRANSPARENT or statement.name == "include":
            lines += to_access_lines_24(statement.children, outer, values)
        elif is_access_statement(statement):
            line = to_access_line(statement)
            if statement.is_section:
                line = replace(line, children=to_access_lines_24(statement.children, outer, values))
            lines.append(line)
    return tuple(lines)


def _inside(statement: Statement, outer: Statement | None) -> Iterator[Literal]:
    """Yield the open conditions of branches around *statement* within *outer*, and of those in it."""
    yield from literals(statement, outer)
    for child in open_branches(statement.children) if statement.is_section else ():
        if is_access_statement(child):
            yield from _inside(child, statement)


def to_access_line(statement: Statement, values: Values | None = None) -> AccessLine:
    """Return one statement as a line of `access`, a container with its relevant lines.

    *values* select the branches that are open.
    """
    inner = tuple(
        to_access_line(child, values)
        for child in (open_branches(statement.children) if statement.is_section else ())
        if is_access_statement(child)
        and (values is None or all(literal.holds(values) for literal in literals(child, statement)))
    )
    name = statement.name.removeprefix("<")
    args = _without_hashes(statement.args) if name in ("allow", "deny") else statement.args
    return AccessLine(name, args.strip(), statement.place, inner)


def as_written(statement: Statement) -> AccessLine:
    """Return the statement as a line of `access`, with its name as written."""
    return replace(to_access_line(statement), name=statement.node.name)


def _without_hashes(args: str) -> str:
    """Return the arguments of Allow or Deny without a comment and without names that contain ``#``.

    2.4 refuses such names, and no client has one.
    """
    first, *others = _COMMENT.sub("", args).split() or [""]
    left = [word for word in others if "#" not in word or word.lower().startswith("env=")]
    return (
        args
        if len(left) == len(others) and "#" not in args
        else " ".join([first, *(left or ["host.invalid"])])
    )


def is_access_statement(statement: Statement) -> bool:
    """Return True if the statement is about access."""
    return is_access_line(statement.name.removeprefix("<"), statement.args)


def may_be_strict(tree: ConfigTree) -> bool:
    """Return True if SSLOptions +StrictRequire may stand outside of sections: its server is not read, or has
    such a line."""
    return tree.context is not InputContext.SERVER or any(
        is_access_statement(line) and not any(section.name in _KINDS for section in line.enclosing())
        for line in tree.named("ssloptions")
    )


def open_branches(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield the statements that 2.2 executes; Include lines and branches are replaced by their contents."""
    for statement in statements:
        if statement.in_22 is False:
            continue
        if statement.name in TRANSPARENT or statement.name == "include":
            yield from open_branches(statement.children)
        else:
            yield statement


def _statements_24_only(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield the statements that 2.4 executes and 2.2 skips."""
    for statement in statements:
        name = statement.name
        if not statement.children:  # most lines: both versions read them
            if statement.in_22 is False and statement.in_24 is not False and not _is_outer(name):
                if name not in TRANSPARENT and name != "include":
                    yield statement
            continue
        if statement.in_24 is False or _is_outer(name):
            continue
        of_24 = statement.is_section and statement.taken[0] is False and not is_access_statement(statement)
        if name in TRANSPARENT or name == "include" or of_24:
            yield from _statements_24_only(statement.children)
        elif statement.in_22 is False:
            yield statement


def _is_outer(name: str) -> bool:
    """Return True for a section with lines about access of its own."""
    return name in _KINDS or name == "<virtualhost"


Inventory = SectionInventory[AccessSection, Statement]
Chain = SectionChain[AccessSection]


def find_sections(tree: ConfigTree) -> Inventory:
    """Return the sections of the configuration tree, and the paths of each server."""
    inventory: Inventory = SectionInventory(is_served_by=serving_hosts(tree).is_served_by)
    _walk(tree, inventory, tree.statements, None, None)
    for file in tree.files.values():
        if file.role is Role.HTACCESS:
            section = AccessSection(
                kind=SectionKind.HTACCESS,
                file=file,
                directory=file.directory.rstrip("/") + "/",
                linked=tuple(directory.rstrip("/") + "/" for directory in file.linked),
            )
            inventory.sections.append(section)
            _walk(tree, inventory, file.statements, None, section)
        elif file.role is Role.FRAGMENT:
            _walk(tree, inventory, file.statements, None, None)
    for server, paths in user_paths(tree, _directories(inventory)):
        inventory.aliases.setdefault(server, []).append(paths)
    return inventory


def _directories(inventory: Inventory) -> Iterator[str]:
    """Yield the directories that sections or .htaccess files are about."""
    for section in inventory.sections:
        if section.kind is SectionKind.HTACCESS:
            yield section.directory
        elif section.kind is SectionKind.DIRECTORY and section.regex is None and not section.fnmatch:
            yield section.pattern


def _walk(
    tree: ConfigTree,
    inventory: Inventory,
    statements: Iterable[Statement],
    server: Statement | None,
    section: AccessSection | None,
) -> None:
    statements = list(statements)
    if section is not None:
        section.lines_24_only += [
            statement for statement in _statements_24_only(statements) if is_access_statement(statement)
        ]
    for statement in open_branches(statements):
        name = statement.name
        if name == "<virtualhost":
            inventory.servers.append(statement)
            _walk(tree, inventory, statement.children, statement, None)
        elif name in _KINDS or name in _PROXIES:
            inner = _section(tree, statement, server, section)
            if is_contradictory(inner.conditions):
                continue
            inventory.sections.append(inner)
            _walk(tree, inventory, statement.children, server, inner)
        elif section is not None and is_access_statement(statement):
            section.lines.append(statement)
        elif section is not None and name in ("allowoverride", "allowoverridelist"):
            section.override_lines.append(statement)
        elif section is None:
            _record_mapping(tree, inventory, statement, server)


def _record_mapping(
    tree: ConfigTree, inventory: Inventory, statement: Statement, server: Statement | None
) -> None:
    words = statement.words() if statement.name in _MAPPING else []
    if statement.name == "rewriterule" and _may_be_local(rule := statement.words()):
        inventory.rewritten.setdefault(server, []).append("" if rule[0].startswith("!") else rule[0])
    if statement.name == "proxypass":
        passed = statement.words()
        if len(passed) > 1 and passed[1] == "!":
            inventory.rewritten.setdefault(server, []).append("")
        elif len(passed) > 1:
            inventory.proxied.setdefault(server, []).append((passed[0], passed[1]))
    if statement.name == "documentroot" and words:
        inventory.roots[server] = absolute_path(tree.text_root, words[0])
    elif statement.name in _HOST_ROOTS and words:
        is_none = words[0].lower() == "none"
        inventory.host_roots[server] = "" if is_none else absolute_path(tree.text_root, words[0])
    elif len(words) > 1:
        inventory.aliases.setdefault(server, []).append(
            (words[0], absolute_path(tree.text_root, words[1], keep_slash=True))
        )


def _may_be_local(rule: list[str]) -> bool:
    """Return True if a RewriteRule may map a URL to a file: it has another text than ``-``, and no flag of a
    redirect, refusal or request to a back end. Without such a flag a URL of the server itself is a path.
    """
    if len(rule) < 2 or rule[1] == "-":
        return False
    flags = rule[2].strip("[]").lower().split(",") if len(rule) > 2 else []
    return not any(flag.strip().partition("=")[0] in _LEAVING for flag in flags)


def _section(
    tree: ConfigTree, statement: Statement, server: Statement | None, outer: AccessSection | None
) -> AccessSection:
    kind = _KINDS.get(statement.name) or _PROXIES[statement.name]
    pattern, rest = _first_word(statement.args)
    by_regex = kind in _MATCHES
    if pattern == "~":
        pattern = _first_word(rest)[0]
        by_regex = True
    if by_regex and never_matches_end(tree, statement):
        pattern = without_end(pattern)
    section = AccessSection(
        kind=kind,
        file=statement.file,
        statement=statement,
        pattern=pattern,
        outer=outer,
        server=server,
        is_proxy=statement.name in _PROXIES,
        conditions=tuple(dict.fromkeys(literals(statement, server))),
    )
    if by_regex:
        try:
            section.regex = compile_regex(pattern)
        except RegexError:
            section.is_malformed = True
    else:
        section.fnmatch = any(c in pattern for c in "*?[") and not section.is_proxy
        if kind is SectionKind.DIRECTORY and pattern != "/":
            section.pattern = absolute_path(tree.text_root, pattern).rstrip("/") + "/"
    return section


def never_matches_end(tree: ConfigTree, statement: Statement) -> bool:
    """Return True if a ``$`` in the section's expression never matches.

    In 2.2 that is so for directories; text written for 2.4 is exempt.
    """
    if statement.name not in ("<directory", "<directorymatch") or "authz_core_module" in tree.modules_24:
        return False
    return not any(
        is_24_only(to_access_line(child))
        for child in open_branches(statement.children)
        if is_access_statement(child)
    )


def _first_word(args: str) -> tuple[str, str]:
    word, at = getword(args)
    return word, args[at:]
