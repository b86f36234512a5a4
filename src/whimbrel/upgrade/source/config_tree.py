"""A configuration tree: a configuration with everything it reads, as statements that know where they stand in
the source.

The statements form one tree as httpd sees it: what an Include reads hangs below the Include line, .htaccess
files have trees of their own. Nothing is left out: the branches of <IfModule>, <IfDefine> and <IfVersion>
that are not taken are there too, marked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.syntax import spans
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.tree import Directive, Document, Malformed, Section
from whimbrel.syntax.words import getword
from whimbrel.upgrade.model import FileEdit, InputContext, UpgradeOptions


class Role(Enum):
    """How a file is used: it decides which contexts its lines have."""

    MAIN = "the configuration file, or one that it includes"
    HTACCESS = ".htaccess"
    FRAGMENT = "a file that was given alone: its context is unknown"


@dataclass(slots=True, eq=False)
class SourceFile:
    """One file: *path* as httpd opens it (one character per byte), *directory* the directory that a .htaccess
    file speaks about ("" otherwise).

    *statements* are those outside of any section; of a file that is included twice they are there for each
    inclusion. *template*: it holds marks of a template, so that words may be anything. *foreign*: it is no
    configuration, and has no statements. *ignored* are, once asked for, the lines that comments exempt from
    rules.
    """

    path: str
    document: Document = field(repr=False)
    role: Role = Role.MAIN
    directory: str = ""
    is_template: bool = False
    foreign: bool = False
    suppressions: dict[int, frozenset[str]] | None = None
    statements: list[Statement] = field(default_factory=list, repr=False)
    _newline: bytes = field(default=b"", repr=False)

    @property
    def newline(self) -> bytes:
        """The line end that the file uses."""
        if not self._newline:
            self._newline = b"\r\n" if b"\r\n" in self.document.bytes[:4096] else b"\n"
        return self._newline


@dataclass(slots=True, eq=False)
class Statement:
    """One directive or section where it stands.

    *name* is in lower case, that of a section begins with ``<``; *args* has ``${NAME}`` expanded as 2.2 would
    and, of a section, no closing ``>``. *children* are what a section holds, or what an Include reads.
    *in_22* and *in_24* say whether that version executes it: False inside a branch that is not taken, None
    where that cannot be told (a -D that the command line may give, a fragment). *taken* is the same of a
    branch's own condition alone. *included* are the files that an Include names, those that could not be read
    too.
    """

    file: SourceFile
    node: Directive | Section
    name: str
    args: str
    parent: Statement | None = field(default=None, repr=False)
    children: list[Statement] = field(default_factory=list, repr=False)
    included_from: SourceLocation | None = None
    in_22: bool | None = True
    in_24: bool | None = True
    taken: tuple[bool | None, bool | None] = (True, True)
    included: tuple[str, ...] = ()

    @property
    def place(self) -> SourceLocation:
        return SourceLocation(self.file.path, self.node.number, self.included_from)

    @property
    def is_section(self) -> bool:
        return isinstance(self.node, Section)

    def words(self) -> list[str]:
        """The arguments as httpd's words."""
        found, at = [], 0
        while at < len(self.args):
            word, at = getword(self.args, at)
            found.append(word)
        return found

    def enclosing(self, *names: str) -> Iterator[Statement]:
        """The sections around it, innermost first, Include lines left out; only those called *names* where any are given."""
        outer = self.parent
        while outer is not None:
            if outer.is_section and (not names or outer.name in names):
                yield outer
            outer = outer.parent

    # edits ---------------------------------------------------------------------------------------
    def rename(self, name: str) -> FileEdit:
        """Put *name* in the place of the directive's name; everything else stays."""
        start, end = spans.name_range(self.file.document, self.node)
        return FileEdit(self.file.path, Edit(start, end, name.encode("latin-1")))

    def replace_args(self, text: str) -> FileEdit:
        """Put *text* in the place of all arguments."""
        start, end = spans.args_range(self.file.document, self.node)
        blank = " " if start == end else ""
        return FileEdit(self.file.path, Edit(start, end, (blank + text).encode("latin-1")))

    def remove(self) -> FileEdit:
        """Take the whole line, or the section with all it holds, out."""
        return FileEdit(self.file.path, Edit(self.node.start, self.node.end, b""))

    def replace(self, lines: Iterable[str]) -> FileEdit:
        """Put *lines* (without line ends) in its place, indented as it is."""
        return FileEdit(self.file.path, Edit(self.node.start, self.node.end, self._block(lines)))

    def insert_before(self, lines: Iterable[str]) -> FileEdit:
        """Insert *lines* above it, indented as it is."""
        return FileEdit(self.file.path, Edit(self.node.start, self.node.start, self._block(lines)))

    def insert_after(self, lines: Iterable[str]) -> FileEdit:
        """Insert *lines* below it, indented as it is."""
        missing = (
            b"" if self.file.document.bytes[self.node.end - 1 : self.node.end] == b"\n" else self.file.newline
        )
        return FileEdit(self.file.path, Edit(self.node.end, self.node.end, missing + self._block(lines)))

    def _block(self, lines: Iterable[str]) -> bytes:
        indent = self.indent
        return b"".join(indent + line.encode("latin-1") + self.file.newline for line in lines)

    @property
    def indent(self) -> bytes:
        """The white space in front of it."""
        line = self.file.document.bytes[self.node.start : self.node.end]
        return line[: len(line) - len(line.lstrip(b" \t"))]


@dataclass(slots=True, eq=False)
class ReadError:
    """Something that could not be read: told by a finding of its own, never passed over."""

    place: SourceLocation
    reason: str


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The modules that the 2.2 binary has compiled in, and how that is known; *assumed*: nothing in the input
    shows it.
    """

    modules: frozenset[str] = frozenset()
    origin: str = ""
    assumed: bool = False

    @property
    def text(self) -> str:
        """One line for people."""
        return (
            f"{self.origin} (assumed; --built-in FILE names the output of `httpd -l`)"
            if self.assumed
            else self.origin
        )


Reparse = Callable[[Mapping[str, bytes], "ConfigTree"], "ConfigTree"]
ReportProgress = Callable[[str, int, int], None]
"""Told what is being worked out, how much of it is done and how much there is."""


def no_progress(_what: str, _done: int, _all: int) -> None:
    """Nobody looks."""


def _no_source(_files: Mapping[str, bytes], _known: ConfigTree) -> ConfigTree:
    raise TypeError("this estate was not read from anything")


class ConfigTree:
    """One configuration: its files, its statements by name, the modules it loads, and what could not be read.

    *files* is keyed by path; a file that is reached by two paths stands under the first. *statements* are
    those of the configuration, those of .htaccess files and fragments are in their `SourceFile`. *context* is
    what the input is: a whole server (maybe with further fragments), a fragment whose surroundings are
    unknown, or .htaccess files alone. *built_in* are the modules in the 2.2 binary. *root* is the ServerRoot.
    *modules* are the identifiers that the 2.2 configuration loads or has built in, in load order;
    *new_modules* those of the same text under 2.4. *broken* are the pieces of files that are no directive and
    no section; each of them is in *unread* too. *is_partial*: files that an Include names were not read.
    *step* is told how far long work has come. *memo* holds what several rules need and one has worked out, by
    name; its entry ``told`` outlives edits: the configuration tree that is read after them has it too.
    """

    def __init__(self, options: UpgradeOptions, root: str = "") -> None:
        self.options, self.root = options, root
        self.context = InputContext.SERVER
        self.built_in = BuiltIn()
        self.files: dict[str, SourceFile] = {}
        self.statements: list[Statement] = []
        self.modules: list[str] = []
        self.modules_24: list[str] = []
        self.defines: set[str] = set()
        self.read_errors: list[ReadError] = []
        self.include_patterns: list[str] = []
        self.is_partial = False
        self.malformed: list[tuple[SourceFile, Malformed]] = []
        self.cache: dict[str, object] = {}
        self.reparse: Reparse = _no_source
        self.report_progress: ReportProgress = no_progress
        self._by_name: dict[str, list[Statement]] = {}

    def add(self, statement: Statement) -> None:
        """Take a statement (not its children) into the index."""
        self._by_name.setdefault(statement.name, []).append(statement)

    def named(self, *names: str, include_inactive: bool = False) -> Iterator[Statement]:
        """All statements called *names* (lower case, sections with ``<``), in reading order for each name.

        *dead* ones only come on request: those that 2.2 never executes (branches for 2.4 alone are right as they are), and those that 2.4
        never will (branches that somebody keeps for 2.2 stay what they are).
        """
        for name in names:
            for statement in self._by_name.get(name, ()):
                if include_inactive or (statement.in_22 is not False and statement.in_24 is not False):
                    yield statement

    def all_statements(self) -> Iterator[Statement]:
        """Every statement in reading order, dead ones too: the configuration, then the other files."""
        others = [file for file in self.files.values() if file.role is not Role.MAIN]
        pending = [s for file in reversed(others) for s in reversed(file.statements) if s.parent is None]
        pending += reversed(self.statements)
        while pending:
            statement = pending.pop()
            yield statement
            pending += reversed(statement.children)

    def has(self, *names: str) -> bool:
        """Return True if any live statement has one of these names."""
        return next(self.named(*names), None) is not None
