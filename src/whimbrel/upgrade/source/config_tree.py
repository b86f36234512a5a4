"""Configuration tree: a configuration and the files it includes, as statements with their positions in the
source.

The statements form one tree as httpd reads it: the contents of an included file are children of the Include
line; .htaccess files have separate trees. The tree also contains the branches of <IfModule>, <IfDefine> and
<IfVersion> that are not taken, marked as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.copied_paths import IN_PLACE
from whimbrel.config.execute import root_relative
from whimbrel.directives.tokens import words
from whimbrel.syntax import spans
from whimbrel.syntax.edits import Edit
from whimbrel.syntax.tree import Directive, Document, Malformed, Section
from whimbrel.upgrade.knowledge.lines import (
    NamedLine,
    is_of_unknown,
    missing_user_files,
    undefined_variables,
)
from whimbrel.upgrade.knowledge.loaded import skipped_items
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import FileEdit, InputContext, UpgradeOptions
from whimbrel.upgrade.source.marks import without_marks_above
from whimbrel.upgrade.source.text_faults import TextFault
from whimbrel.upgrade.source.unread_branches import unread_branches


class Role(Enum):
    """The use of a file: it determines the contexts of its lines."""

    MAIN = "the configuration file, or one that it includes"
    HTACCESS = ".htaccess"
    FRAGMENT = "a file that was passed alone: its context is unknown"


@dataclass(slots=True, eq=False)
class SourceFile:
    """One file.

    Attributes:
        path: the path as httpd opens it, one character per byte.
        role: the use of the file.
        directory: the directory that a .htaccess file applies to, "" for other files.
        linked: further directories that it applies to, because links lead to its directory.
        template_lines: the lines with template marks.
        foreign: the file is no configuration and has no statements.
        faults: the faults of the whole text: a file with one of them is not edited.
        suppressions: the lines that comments exempt from rules, computed on first use.
        statements: the statements outside of sections, once for each inclusion of the file.
    """

    path: str
    document: Document = field(repr=False)
    role: Role = Role.MAIN
    directory: str = ""
    linked: tuple[str, ...] = ()
    template_lines: tuple[int, ...] = ()
    foreign: bool = False
    faults: tuple[TextFault, ...] = ()
    suppressions: dict[int, frozenset[str]] | None = None
    statements: list[Statement] = field(default_factory=list, repr=False)
    _newline: bytes = field(default=b"", repr=False)

    @property
    def refusal(self) -> str:
        """The effect of a line that 2.4 refuses, as a predicate: requests parse .htaccess files."""
        return "answers 500" if self.role is Role.HTACCESS else "does not start"

    @property
    def is_template(self) -> bool:
        """Return True if template marks stand in the file, so that any argument may be replaced."""
        return bool(self.template_lines)

    @property
    def newline(self) -> bytes:
        """The line end of the file."""
        if not self._newline:
            self._newline = b"\r\n" if b"\r\n" in self.document.bytes[:4096] else b"\n"
        return self._newline


@dataclass(slots=True, eq=False)
class Statement:
    """One directive or section at its position.

    Attributes:
        name: the name in lower case, of a section with a leading ``<``.
        args: the arguments with ``${NAME}`` expanded as 2.2 does; of a section without the closing ``>``.
        children: the contents of a section, or of the files of an Include.
        in_22, in_24: True if that version executes the statement, False in a branch that is not taken, None
            if that is open (a -D of the command line, a fragment).
        taken: the same for the condition of the branch itself.
        included: the paths that an Include names, unreadable ones too.
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
    _words: list[str] | None = field(default=None, repr=False)

    @property
    def place(self) -> SourceLocation:
        return SourceLocation(self.file.path, self.node.number, self.included_from)

    @property
    def is_section(self) -> bool:
        return type(self.node) is Section

    def words(self) -> list[str]:
        """Return the arguments as words, split as httpd does; the list is kept, and is not to be changed."""
        if self._words is None:
            self._words = words(self.args) or [""] * bool(self.args)  # blanks alone are an empty word
        return self._words

    def enclosing(self, *names: str) -> Iterator[Statement]:
        """Yield the enclosing sections, innermost first, without Include lines; with *names*, only sections
        called so."""
        outer = self.parent
        while outer is not None:
            if outer.is_section and (not names or outer.name in names):
                yield outer
            outer = outer.parent

    # edits ---------------------------------------------------------------------------------------
    def rename(self, name: str) -> FileEdit:
        """Replace the name of the directive."""
        start, end = spans.name_range(self.file.document, self.node)
        return FileEdit(self.file.path, Edit(start, end, name.encode("latin-1")))

    def replace_args(self, text: str) -> FileEdit:
        """Replace all arguments."""
        start, end = spans.args_range(self.file.document, self.node)
        blank = " " if start == end else ""
        return FileEdit(self.file.path, Edit(start, end, (blank + text).encode("latin-1")))

    def remove(self) -> FileEdit:
        """Remove the line, or the section with its contents, and the comments that exempt it from rules."""
        start, comments = without_marks_above(self.file.document.bytes, self.node.start)
        return FileEdit(self.file.path, Edit(start, self.node.end, comments))

    def replace(self, lines: Iterable[str]) -> FileEdit:
        """Replace the statement with *lines* (without line ends), with the same indentation."""
        return FileEdit(self.file.path, Edit(self.node.start, self.node.end, self._block(lines)))

    def insert_before(self, lines: Iterable[str]) -> FileEdit:
        """Insert *lines* above the statement and the comments that exempt it, with the same indentation."""
        start = without_marks_above(self.file.document.bytes, self.node.start)[0]
        return FileEdit(self.file.path, Edit(start, start, self._block(lines)))

    def insert_after(self, lines: Iterable[str]) -> FileEdit:
        """Insert *lines* below the statement, with the same indentation."""
        missing = (
            b"" if self.file.document.bytes[self.node.end - 1 : self.node.end] == b"\n" else self.file.newline
        )
        return FileEdit(self.file.path, Edit(self.node.end, self.node.end, missing + self._block(lines)))

    def _block(self, lines: Iterable[str]) -> bytes:
        indent = self.indent
        return b"".join(indent + line.encode("latin-1") + self.file.newline for line in lines)

    @property
    def indent(self) -> bytes:
        """The white space before the statement."""
        line = self.file.document.bytes[self.node.start : self.node.end]
        return line[: len(line) - len(line.lstrip(b" \t"))]


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """The modules compiled into the 2.2 binary, and the origin of that knowledge.

    *assumed*: nothing in the input shows it. *used*: modules among them whose directives the text has,
    without a line that loads them, each with its first line.
    """

    modules: frozenset[str] = frozenset()
    origin: str = ""
    assumed: bool = False
    used: tuple[tuple[str, SourceLocation], ...] = ()

    def items(self) -> list[UnknownItem]:
        """Return what is assumed, as an item of the scope."""
        if not self.used:
            return []
        names = sorted(f"mod_{name.removesuffix('_module')}" for name, _ in self.used)
        subject = f"taken as compiled into the server of 2.2: {', '.join(names)}"
        why = "no line loads them, and it ran with their directives"
        advice = "--builtin FILE names the output of `httpd -l`"
        return [UnknownItem(UnknownKind.ASSUMED, self.used[0][1], subject, why, advice, matters=False)]

    @property
    def text(self) -> str:
        """The origin as one line of text."""
        return (
            f"{self.origin} (assumed; --builtin FILE names the output of `httpd -l`)"
            if self.assumed
            else self.origin
        )


Reparse = Callable[[Mapping[str, bytes], "ConfigTree"], "ConfigTree"]
ReportProgress = Callable[[str, int, int], None]
"""Called with the current step, the work done and the total work."""


def no_progress(_what: str, _done: int, _all: int) -> None:
    """Ignore the progress."""


OriginalPlace = Callable[[SourceLocation], SourceLocation]


IsWritten = Callable[[SourceLocation], bool]


def _is_read(_place: SourceLocation) -> bool:
    """Return False: no line of a tree without edits is written."""
    return False


def _as_read(place: SourceLocation) -> SourceLocation:
    """Return the place in a tree without edits."""
    return place


def _no_source(_files: Mapping[str, bytes], _known: ConfigTree) -> ConfigTree:
    raise TypeError("this configuration tree was not read from files")


class ConfigTree:
    """One configuration: its files, its statements by name, its modules, and its unread parts.

    Attributes:
        options: the options of the upgrade.
        root: the ServerRoot.
        context: a whole server (with any further fragments), a fragment with unknown surroundings, or
            .htaccess files alone.
        built_in: the modules in the 2.2 binary.
        files: the files by path; a file with two paths has the first one.
        statements: the statements of the configuration; .htaccess files and fragments have theirs in their
            `SourceFile`.
        modules: the identifiers that 2.2 loads or has built in, in load order.
        modules_24: the same under 2.4.
        server_modules: of fragments, the modules of the server that was named beside them, in load order.
        defines: the names that are defined.
        environment: the variables of the environment of the server.
        service_files: the files from which its service takes variables and options.
        generated: the files that the start script of its distribution writes and that are missing here.
        unread: the parts that could not be read; a finding reports each.
        modules_unread: the line that names files with LoadModule lines which were not read; None for none.
        missing_roots: the served directories that are not here, in which .htaccess files may be read.
        undecided: the parts of the file of variables that were not carried out.
        include_patterns: the arguments of Include lines.
        malformed: the parts of files that are neither directive nor section; each is an unread part too.
        cache: results that several rules share, by name; the entry ``persistent`` is handed to the tree that
            is read after edits.
        reparse: reads the tree again with the bytes of edited files.
        report_progress: called during long work.
        is_judged: findings say what 2.4 would do with the text as it stands, too; it costs a comparison for
            each section, which an upgrade, whose result has another text, does without.
        lone: the files that no Include of the server reads, as a tree of fragments; None for none.
        original: the configuration tree as it was read, before any edit; None if this is it.
        original_place: returns the place of a line in the texts as they were read, before any edit.
        is_written: returns True for the place of a line that an edit has written.
    """

    def __init__(self, options: UpgradeOptions, root: str = "") -> None:
        self.options = options
        self.root = root
        self.disk = IN_PLACE
        self.context = InputContext.SERVER
        self.built_in = BuiltIn()
        self.files: dict[str, SourceFile] = {}
        self.statements: list[Statement] = []
        self.modules: list[str] = []
        self.modules_24: list[str] = []
        self.server_modules: tuple[str, ...] = ()
        self.defines: set[str] = set()
        self.environment: Mapping[str, str] = {}
        self.service_files: tuple[str, ...] = ()
        self.generated: frozenset[str] = frozenset()
        self.unread: list[UnknownItem] = []
        self.modules_unread: SourceLocation | None = None
        self.missing_roots: list[str] = []
        self.undecided: list[UnknownItem] = []
        self.include_patterns: list[str] = []
        self.malformed: list[tuple[SourceFile, Malformed]] = []
        self.cache: dict[str, object] = {}
        self.reparse: Reparse = _no_source
        self.report_progress: ReportProgress = no_progress
        self.is_judged = False
        self.lone: ConfigTree | None = None
        self.original: ConfigTree | None = None
        self.original_place: OriginalPlace = _as_read
        self.is_written: IsWritten = _is_read
        self._by_name: dict[str, list[Statement]] = {}
        self._in_order: list[Statement] | None = None

    @property
    def text_root(self) -> str:
        """Return the directory that relative paths of the text are below, as the text names it."""
        return self.disk.text_root or self.root

    @property
    def top(self) -> str:
        """The directory that sentences name paths from: the copy of a machine, or the server root."""
        return self.disk.image or self.root

    def module_file(self, path: str) -> str:
        """Return the file that *path* of a LoadModule line names; "" where it is no part of a copy."""
        place = self.disk.place(root_relative(self.text_root or "/", path))
        return self.disk.openable(place) if place else ""

    @property
    def lone_paths(self) -> frozenset[str]:
        """The files of `lone`: no answer of the server depends on them."""
        return frozenset(self.lone.files) if self.lone is not None else frozenset()

    @property
    def has_unread_files(self) -> bool:
        """Return True if files or directories that a line names were not read."""
        return any(item.kind is not UnknownKind.NOT_READ for item in self.unread)

    def variables(self) -> dict[str, str]:
        """Return the variables that have one value each, wherever a line reads them."""
        found = dict(self.environment)
        for line in self.all_statements():
            given = line.words() if line.name == "define" else []
            if len(given) == 2 and found.setdefault(given[0], given[1]) != given[1]:
                found[given[0]] = f"${{{given[0]}}}"
        return found

    def scope(self) -> KnowledgeScope:
        """Return what was read, and what is unknown."""
        lines = [
            NamedLine(statement.name, statement.args, statement.place)
            for statement in self.all_statements()
            if is_of_unknown(statement.name, statement.args)
            and not (statement.in_22 is False and statement.in_24 is False)
        ]
        users = missing_user_files(lines, self.text_root, matters=False, disk=self.disk) if self.root else ()
        is_server = self.context is InputContext.SERVER
        skipped = skipped_items(unread_branches(self.statements)) if is_server else ()
        items = [
            *self.unread,
            *self.undecided,
            *self.built_in.items(),
            *undefined_variables(lines),
            *users,
            *skipped,
        ]
        return KnowledgeScope(tuple(self.files), tuple(dict.fromkeys(items)))

    def add(self, statement: Statement) -> None:
        """Add a statement (not its children) to the index."""
        self._in_order = None
        self._by_name.setdefault(statement.name, []).append(statement)

    def named(self, *names: str, include_inactive: bool = False) -> Iterator[Statement]:
        """Yield the statements called *names* (lower case, sections with ``<``), in reading order for each
        name.

        Inactive statements need *include_inactive*: those that 2.2 never executes (branches for 2.4 need no
        upgrade), and those that 2.4 never executes (branches for 2.2 stay unchanged).
        """
        for name in names:
            for statement in self._by_name.get(name, ()):
                if include_inactive or (statement.in_22 is not False and statement.in_24 is not False):
                    yield statement

    def all_statements(self) -> Sequence[Statement]:
        """Return every statement in reading order, inactive ones too: the configuration, then the other
        files. The result is kept until a statement is added."""
        found = self._in_order
        if found is None:
            found = []
            self._in_order = found
            others = [file for file in self.files.values() if file.role is not Role.MAIN]
            pending = [s for file in reversed(others) for s in reversed(file.statements) if s.parent is None]
            pending += reversed(self.statements)
            while pending:
                statement = pending.pop()
                found.append(statement)
                pending += reversed(statement.children)
        return found

    def shows(self, place: SourceLocation, word: str) -> bool:
        """Return True if the line at *place*, as it was read, has *word*; edits may have written it since."""
        if self.original is None:
            return True
        read = self.original_place(place)
        file = self.original.files.get(read.path)
        lines = file.document.bytes.split(b"\n") if file is not None else []
        line = lines[read.line - 1] if 0 < read.line <= len(lines) else b""
        return word.lower() in line.decode("latin-1").lower()

    def has(self, *names: str) -> bool:
        """Return True if an active statement has one of these names."""
        return next(self.named(*names), None) is not None
