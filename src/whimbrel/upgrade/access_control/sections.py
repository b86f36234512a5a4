"""The sections and .htaccess files of an estate that say something about access, each with its lines and how a request is matched to it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Final

from whimbrel.access.layers import Layer, Line, is_relevant
from whimbrel.config.model import SectionKind
from whimbrel.errors import Place
from whimbrel.records import dataclass, field, replace
from whimbrel.regex import Regex, RegexError, compile_regex, without_end
from whimbrel.syntax.words import getword
from whimbrel.upgrade.access_control.conditions import TRANSPARENT, Condition, Literal, Values, is_contradictory, is_lost, literals
from whimbrel.upgrade.estate import Estate, Role, SourceFile, Statement
from whimbrel.wildcards import wildcards

_KINDS: Final = {
    "<directory": SectionKind.DIRECTORY, "<directorymatch": SectionKind.DIRECTORY_MATCH, "<files": SectionKind.FILES,
    "<filesmatch": SectionKind.FILES_MATCH, "<location": SectionKind.LOCATION, "<locationmatch": SectionKind.LOCATION_MATCH,
}
_PROXIES: Final = {"<proxy": SectionKind.LOCATION, "<proxymatch": SectionKind.LOCATION_MATCH}
_COMMENT: Final = re.compile(r"[ \t]+#.*")  # words for 2.2, in which no client's name can end; an error in 2.4
_MATCHES: Final = frozenset({SectionKind.DIRECTORY_MATCH, SectionKind.FILES_MATCH, SectionKind.LOCATION_MATCH})


@dataclass(slots=True, eq=False)
class Unit:
    """One section (or .htaccess file) that can take part in a request; compared by identity.

    *statement* is the section's, None for a .htaccess file; *lines* are the statements directly in it that matter for access, conditional
    branches opened; *branch* are those that 2.4 alone executes; *overrides* are its AllowOverride lines.  *pattern* as httpd keeps it: a directory
    ends in ``/``; *folder* is that of a .htaccess file (with a slash at its end).  *outer* is the section or file that a <Files> stands in.
    *server* is its <VirtualHost>.  *proxy*: a <Proxy> section.  *conditions* are those of the branches around it, within its server, of which the
    text doesn't say whether they are taken; *choices* are those of the branches in it.  *unsettled* says why the section must stay as it is.
    """

    kind: SectionKind
    file: SourceFile
    statement: Statement | None = None
    pattern: str = ""
    regex: Regex | None = None
    fnmatch: bool = False
    folder: str = ""
    outer: Unit | None = None
    server: Statement | None = None
    proxy: bool = False
    unreadable: bool = False
    conditions: tuple[Literal, ...] = ()
    unsettled: str = ""
    lines: list[Statement] = field(default_factory=list)
    branch: list[Statement] = field(default_factory=list)
    overrides: list[Statement] = field(default_factory=list)
    _told: tuple[Line, ...] | None = field(default=None, repr=False)

    @property
    def told(self) -> tuple[Line, ...]:
        """Its *lines* as lines of `access`; asked for when all of them are known."""
        if self._told is None:
            self._told = lines_of(self.lines)
        return self._told

    @property
    def choices(self) -> tuple[Condition, ...]:
        """The open conditions of branches in it, in the order of their lines."""
        return tuple(dict.fromkeys(literal.condition for line in self.lines for literal in _inside(line, self.statement)))

    @property
    def branches(self) -> tuple[tuple[Literal, ...], ...]:
        """The open conditions around and in each of its lines."""
        return tuple(tuple(_inside(line, self.statement)) for line in self.lines)

    @property
    def loses_lines(self) -> bool:
        """Return True if 2.4 may leave out a line of it that 2.2 reads."""
        return any(is_lost(line, self.statement) for line in self.lines)

    def told_under(self, values: Values) -> tuple[Line, ...]:
        """Its lines as 2.2 reads them where the open conditions have these *values*."""
        read = [line for line in self.lines if all(literal.holds(values) for literal in literals(line, self.statement))]
        told = ((line_of(line, values), line) for line in read)
        return tuple(line for line, statement in told if line.children or not line_of(statement).children)

    @property
    def is_page(self) -> bool:
        """Return True for a <Location> that is one page made by a handler (server-status): no file is behind it, whatever its URLs end in."""
        literal = self.kind is SectionKind.LOCATION and self.regex is None and not self.fnmatch and self.statement is not None
        return literal and any(line.name == "sethandler" for line in opened(self.statement.children if self.statement is not None else ()))

    @property
    def htaccess(self) -> bool:
        """Whether its lines stand in a .htaccess file."""
        return self.file.role is Role.HTACCESS

    @property
    def place(self) -> Place:
        """Where it begins."""
        return self.statement.place if self.statement is not None else Place(self.file.path, self.lines[0].node.number if self.lines else 1)

    @property
    def components(self) -> int:
        """The order of directories."""
        return 0 if self.pattern == "/" else self.pattern.count("/")

    @property
    def carried(self) -> bool:
        """Whether its lines are those of 2.4 already, by words that 2.2 lacks or in a branch of their own: it is left as it is."""
        return bool(self.branch) or any(is_new(line) for line in self.told)

    @property
    def surely_carried(self) -> bool:
        """Whether that shows by more than words after Require."""
        return bool(self.branch) or any(is_new(line, words=False) for line in self.told)

    @property
    def new_lines(self) -> list[Statement]:
        """What 2.4 executes of it as it stands."""
        return [line for line in (*self.lines, *self.branch) if line.in_24 is not False]

    def layer(self, lines: tuple[Line, ...] | None = None) -> Layer:
        """The section as `access` takes it; with other *lines* where given."""
        return Layer(self.told if lines is None else lines, self.kind, self.htaccess, self.place)

    def matches(self, text: str) -> bool:
        """Whether the pattern fits *text*: a folder with its slash, a whole path, a file name or a URL path, as the kind wants."""
        if self.unreadable:
            return False
        if self.regex is not None:
            return self.regex.search(text) is not None
        if self.fnmatch:
            return wildcards(self.pattern, by_segment=self.kind is not SectionKind.FILES).search(text) is not None
        if self.kind is SectionKind.LOCATION:
            return _below(self.pattern, text)
        return self.pattern == text


def _below(prefix: str, url: str) -> bool:
    return url.startswith(prefix) and (prefix.endswith("/") or len(url) == len(prefix) or url[len(prefix)] == "/")


_NEW_WORDS: Final = frozenset({"all", "ip", "host", "env", "method", "expr", "local", "not", "forward-dns", "internal-server-error", "dbm-group",
                               "dbm-file-group"})
_NEW_NAMES: Final = frozenset({"requireall", "requireany", "requirenone", "authmerging"})


def is_new(line: Line, *, words: bool = True) -> bool:
    """Whether the line, or one in it, has a meaning in 2.4 alone; without *words* by the names of directives."""
    if line.name in _NEW_NAMES:
        return True
    if line.name == "require":
        return words and line.args.partition(" ")[0].lower() in _NEW_WORDS
    return any(is_new(child, words=words) for child in line.children)


def lines_of(statements: Iterable[Statement]) -> tuple[Line, ...]:
    """Statements as lines of `access`."""
    return tuple(line_of(statement) for statement in statements)


def _inside(statement: Statement, outer: Statement | None) -> Iterator[Literal]:
    """The open conditions of branches around *statement* within *outer*, and of those in it."""
    yield from literals(statement, outer)
    for child in opened(statement.children) if statement.is_section else ():
        if relevant(child):
            yield from _inside(child, statement)


def line_of(statement: Statement, values: Values | None = None) -> Line:
    """One statement; a container with what it holds that matters, of branches that are open what *values* say."""
    inner = tuple(
        line_of(child, values) for child in (opened(statement.children) if statement.is_section else ())
        if relevant(child) and (values is None or all(literal.holds(values) for literal in literals(child, statement))))
    name = statement.name.removeprefix("<")
    args = _without_hashes(statement.args) if name in ("allow", "deny") else statement.args
    return Line(name, args.strip(), statement.place, inner)


def as_written(statement: Statement) -> Line:
    """The same with its name in the letters of the file."""
    return replace(line_of(statement), name=statement.node.name)


def _without_hashes(args: str) -> str:
    """The words of Allow or Deny without a comment and without names that hold a ``#``, which 2.4 refuses and no client has."""
    first, *others = _COMMENT.sub("", args).split() or [""]
    left = [word for word in others if "#" not in word or word.lower().startswith("env=")]
    return args if len(left) == len(others) and "#" not in args else " ".join([first, *(left or ["host.invalid"])])


def relevant(statement: Statement) -> bool:
    """Whether the statement says something about access."""
    return is_relevant(statement.name.removeprefix("<"))


def opened(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements that 2.2 executes, with those of Include lines and of branches that are taken in their place."""
    for statement in statements:
        if statement.in_22 is False:
            continue
        if statement.name in TRANSPARENT or statement.name == "include":
            yield from opened(statement.children)
        else:
            yield statement


def _branches(statements: Iterable[Statement]) -> Iterator[Statement]:
    """The statements that 2.4 executes and 2.2 doesn't."""
    for statement in statements:
        if statement.in_24 is False or statement.name in _KINDS or statement.name == "<virtualhost":
            continue
        of_24 = statement.is_section and statement.taken[0] is False and not relevant(statement)
        if statement.name in TRANSPARENT or statement.name == "include" or of_24:
            yield from _branches(statement.children)
        elif statement.in_22 is False:
            yield statement


@dataclass(slots=True)
class Found:
    """All sections of an estate in reading order, and the names and folders that each server maps."""

    units: list[Unit] = field(default_factory=list)
    servers: list[Statement] = field(default_factory=list)
    roots: dict[int, str] = field(default_factory=dict)
    aliases: dict[int, list[tuple[str, str]]] = field(default_factory=dict)
    _groups: dict[int, list[Unit]] = field(default_factory=dict, repr=False)

    def key(self, server: Statement | None) -> int:
        """What *roots* and *aliases* are keyed by; 0 is the main server."""
        return 0 if server is None else id(server)

    def of_server(self, server: Statement | None) -> tuple[list[Unit], list[Unit]]:
        """The sections that every server has, .htaccess files among them, and those that are *server*'s alone."""
        if not self._groups:
            self._groups[0] = [unit for unit in self.units if unit.htaccess or unit.server is None]
            for unit in self.units:
                if unit.server is not None and not unit.htaccess:
                    self._groups.setdefault(id(unit.server), []).append(unit)
        return self._groups[0], [] if server is None else self._groups.get(id(server), [])


def find(estate: Estate) -> Found:
    """Walk the estate once."""
    found = Found()
    _walk(estate, found, estate.statements, None, None)
    for file in estate.files.values():
        if file.role is Role.HTACCESS:
            unit = Unit(SectionKind.HTACCESS, file, folder=file.folder.rstrip("/") + "/")
            found.units.append(unit)
            _walk(estate, found, file.statements, None, unit)
        elif file.role is Role.FRAGMENT:
            _walk(estate, found, file.statements, None, None)
    return found


def _walk(estate: Estate, found: Found, statements: Iterable[Statement], server: Statement | None, unit: Unit | None) -> None:
    statements = list(statements)
    if unit is not None:
        unit.branch += [statement for statement in _branches(statements) if relevant(statement)]
    for statement in opened(statements):
        name = statement.name
        if name == "<virtualhost":
            found.servers.append(statement)
            _walk(estate, found, statement.children, statement, None)
        elif name in _KINDS or name in _PROXIES:
            inner = _section(estate, statement, server, unit)
            if is_contradictory(inner.conditions):
                continue
            found.units.append(inner)
            _walk(estate, found, statement.children, server, inner)
        elif unit is not None and relevant(statement):
            unit.lines.append(statement)
        elif unit is not None and name in ("allowoverride", "allowoverridelist"):
            unit.overrides.append(statement)
        elif unit is None:
            _mapping(estate, found, statement, server)


def _mapping(estate: Estate, found: Found, statement: Statement, server: Statement | None) -> None:
    words = statement.words()
    key = found.key(server)
    if statement.name == "documentroot" and words:
        found.roots[key] = absolute(estate.root, words[0])
    elif statement.name in ("alias", "scriptalias") and len(words) > 1:
        found.aliases.setdefault(key, []).append((words[0], absolute(estate.root, words[1], keep=True)))


def absolute(root: str, path: str, *, keep: bool = False) -> str:
    """*path* under the server root, without dots; *keep* a slash at its end."""
    whole = path if path.startswith("/") else os.path.join(root or "/", path)
    clean = re.sub(r"/+", "/", os.path.normpath(whole))
    return clean + "/" if keep and path.endswith("/") and clean != "/" else clean


def ancestors(folder: str) -> Iterator[str]:
    """The folders on the way to *folder*, from the root on, each with its slash."""
    at = 0
    while (at := folder.find("/", at) + 1) > 0:
        yield folder[:at]


def _section(estate: Estate, statement: Statement, server: Statement | None, outer: Unit | None) -> Unit:
    kind = _KINDS.get(statement.name) or _PROXIES[statement.name]
    pattern, rest = _first(statement.args)
    by_regex = kind in _MATCHES
    if pattern == "~":
        pattern, by_regex = _first(rest)[0], True
    if by_regex and never_ends(estate, statement):
        pattern = without_end(pattern)
    unit = Unit(kind, statement.file, statement, pattern, outer=outer, server=server, proxy=statement.name in _PROXIES,
                conditions=tuple(dict.fromkeys(literals(statement, server))))
    if by_regex:
        try:
            unit.regex = compile_regex(pattern)
        except RegexError:
            unit.unreadable = True
    else:
        unit.fnmatch = any(c in pattern for c in "*?[") and not unit.proxy
        if kind is SectionKind.DIRECTORY and pattern != "/":
            unit.pattern = absolute(estate.root, pattern).rstrip("/") + "/"
    return unit


def never_ends(estate: Estate, statement: Statement) -> bool:
    """Whether no ``$`` of the section's expression matches: in 2.2 that of folders, in text that isn't 2.4's own."""
    if statement.name not in ("<directory", "<directorymatch") or "authz_core_module" in estate.new_modules:
        return False
    return not any(is_new(line_of(child)) for child in opened(statement.children) if relevant(child))


def _first(args: str) -> tuple[str, str]:
    word, at = getword(args)
    return word, args[at:]
