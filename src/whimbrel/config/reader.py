"""Read files into a tree of directives: httpd's ap_build_config.

Directives with EXEC_ON_READ (Include, LoadModule, Define, <IfModule> ...) are executed while the file is
read; all others become nodes.  Closing tags match within one file, and within one conditional block of
reading.
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.errors import ConfigError, SourceLocation
from whimbrel.base.latin1 import to_text as as_text
from whimbrel.base.static_typing import TYPE_CHECKING, Any, TypeVar
from whimbrel.config.execute import CommandContext
from whimbrel.config.loaded import BoundDirective
from whimbrel.directives.command import Command
from whimbrel.directives.node import Node
from whimbrel.directives.tokens import expand, getword, undefined_warning
from whimbrel.syntax.lines import (
    MAX_SECTIONS,
    TOO_DEEP,
    V22_LINES,
    V24_LINES,
    LineRules,
    Scanned,
    numbered,
    plain,
    scan,
    split_name,
)

if TYPE_CHECKING:
    from whimbrel.config.skipped_branches import BranchContents, SkippedBranch

COMMAND_LINE = "-c/-C directives"
MAX_HTACCESS_LINE = 8192
MAX_LINE = 16 * 1024 * 1024
MAX_EXPANDED = 4 * MAX_LINE  # variables of variables double with every line; httpd takes all memory
Lines = Iterator[Scanned]
R = TypeVar("R")


class ConfigSource:
    """A text that is being read; `lines` yields its lines one by one.

    *path* and *number* are those of the last line, *executed* is the location of the last directive executed
    on reading. `push` puts lines (a macro's) in front of the remaining ones.
    """

    __slots__ = ("_feeds", "executed", "included_from", "lines", "number", "path")

    def __init__(self, path: str, lines: Lines, included_from: SourceLocation | None = None) -> None:
        self.path = path
        self.included_from = included_from
        self.number = 0
        self.executed: SourceLocation | None = None
        self._feeds = [(path, lines)]
        self.lines = self._numbered()

    def place(self) -> SourceLocation:
        return SourceLocation(self.path, self.number, self.included_from)

    def push(self, path: str, lines: list[str]) -> None:
        """Read *lines* next, as lines 1, 2 ... of *path*."""
        self._feeds.append((path, iter([(0, 0, number, text) for number, text in enumerate(lines, 1)])))

    def raw_lines(self) -> Iterator[str]:
        """Return the lines of the present text as they are, blank ones and comments too."""
        for _start, _end, number, text in self._feeds[-1][1]:
            self.number = number
            yield text

    def _numbered(self) -> Iterator[tuple[int, str]]:
        """Numbers and texts; blank lines and comments are left out."""
        feeds = self._feeds
        while feeds:
            feed = feeds[-1]
            self.path = feed[0]
            for _start, _end, number, text in feed[1]:
                if text and text[0] != "#":
                    self.number = number
                    yield number, text
                    if feeds[-1] is not feed:
                        break
            else:
                feeds.pop()


class LineTooLong(ConfigError):
    """A line beyond 2.4's limit; its place is that of the last directive executed while reading."""


def short_enough(scanned: Lines, source: str, path: str, limit: int) -> Lines:
    """Return the lines; LineTooLong beyond *limit* bytes, with line end, joined lines together."""
    for line in scanned:
        start, end, number, _text = line
        if end - start > limit:
            raw = source[start:end]
            if len(raw) - 2 * raw.count("\\\n") - 3 * raw.count("\\\r\n") > limit:
                raise LineTooLong(f"Error reading {path} at line {number}: Line too long")
        yield line


class Reader:
    """Reads texts into one tree; *state* is the command object of EXEC_ON_READ directives.

    *skipped* gets the branches that are not read; None: they are forgotten.
    """

    def __init__(self, state: CommandContext, skipped: list[SkippedBranch] | None = None) -> None:
        self.state = state
        self.configuration = state.configuration
        old = state.configuration.dialect.lines_22
        self.rules: LineRules = V22_LINES if old else V24_LINES
        self._keeps_spelling = old
        self._variables = {} if old else state.configuration.variables
        self._environment = state.configuration.options.environment
        self.source = ConfigSource("", iter(()))
        self.include_depth = 0
        self._enter = ""
        self._level = 0
        self._memory: dict[type[Any], Any] = {}
        self._skipped = skipped
        self._nodes: list[Node] = self.configuration.tree
        self._parent: Node | None = None
        state.reader = self

    def lines(self, data: bytes, path: str, limit: int = MAX_LINE) -> Lines:
        """Return the lines of a file; 2.4 refuses those beyond *limit* bytes, 2.2 splits at its own."""
        text = as_text(data)
        if self.rules.limit is None and len(text) <= limit and plain(text):
            return numbered(text)
        scanned = scan(text, self.rules)
        return (
            short_enough(scanned, text, path, limit)
            if self.rules.limit is None and len(text) > limit
            else scanned
        )

    def memory(self, kind: type[R]) -> R:
        """Return the object of *kind* in which directives store state while this reader reads."""
        found = self._memory.get(kind)
        if found is None:
            found = kind()
            self._memory[kind] = found
        return found

    def read(self, source: ConfigSource, nodes: list[Node], parent: Node | None = None) -> None:
        """Read all of *source* into *nodes* (children of *parent*).  A ConfigError from here is *bare*: see
        `messages.format_error`.
        """
        outer, self.source = self.source, source
        try:
            left = self._block(source, nodes, parent)
        except LineTooLong as problem:
            if problem.place is None:
                problem.place = source.executed or source.included_from
                problem.bare = True
            raise
        finally:
            self.source = outer
        if left:
            open_ones = [f"{n.place.path}:{n.place.line}: {n.name}> was not closed." for n in left]
            raise ConfigError("\n".join(open_ones), left[-1].place, bare=True)

    def block(self, container: str) -> None:
        """Read *container* (``<IfModule``) to its closing tag: a conditional block that is true."""
        self._enter = f"{container[1:]}>".lower()

    def _block(self, source: ConfigSource, nodes: list[Node], parent: Node | None) -> list[Node]:
        """Read all lines; return the sections that are open at the end, innermost first.

        Inside a conditional block closing tags match only sections opened in it, so each block has its own
        list of open sections. Sections left open in a block are dropped, as httpd does.
        """
        via = source.included_from
        rows_of = self.configuration.modules.rows
        opened: list[tuple[Node, list[Node], Node | None]] = []
        outer: list[tuple[str, list[tuple[Node, list[Node], Node | None]]]] = []
        closing = ""
        base_level = self._level
        outer_level = self._level
        for number, line in source.lines:
            if closing and not opened and line[:2] == "</" and line[2:].lower() == closing:
                closing, opened = outer.pop()
                base_level -= len(opened)
                continue
            name, args = split_name(self.expanded(line) if "${" in line else line)
            if not name:
                continue
            spelled = ""
            rows = rows_of(name)
            if rows is not None:
                if not self._keeps_spelling and name != rows[0].name:
                    spelled = name
                    name = rows[0].name
                if rows[0].exec_on_read:
                    self._level = base_level + len(opened)
                    self._execute(
                        Node(name, args, SourceLocation(source.path, number, via), parent),
                        rows,
                        nodes,
                        parent,
                    )
                    self._level = outer_level
                    if self._enter:
                        outer.append((closing, opened))
                        base_level += len(opened)
                        closing, opened, self._enter = self._enter, [], ""
                    continue
            if name[0] != "<":
                place = SourceLocation(source.path, number, via)
                nodes.append(Node(name, args, place, parent, spelled=spelled))
            elif name[1:2] != "/":
                inner: list[Node] = []
                node = Node(name, args, SourceLocation(source.path, number, via), parent, inner, spelled)
                if base_level + len(opened) >= MAX_SECTIONS:
                    raise ConfigError(TOO_DEEP, node.place, bare=True)
                nodes.append(node)
                opened.append((node, nodes, parent))
                parent = node
                nodes = inner
            else:
                self._check_closing(name, opened[-1][0] if opened else None)
                _node, nodes, parent = opened.pop()
        return [node for node, _nodes, _parent in reversed(outer[0][1] if outer else opened)]

    def _check_closing(self, tag: str, open_one: Node | None) -> None:
        place = self.source.place()
        if open_one is None:
            raise ConfigError(f"{tag} without matching <{tag[2:]} section", place, bare=True)
        if tag[-1] != ">":
            raise ConfigError(f"{tag}> directive missing closing '>'", place, bare=True)
        if tag[2:-1].lower() != open_one.name[1:].lower():
            raise ConfigError(f"Expected </{open_one.name[1:]}> but saw {tag}", place, bare=True)

    def _execute(
        self, node: Node, rows: tuple[BoundDirective, ...], nodes: list[Node], parent: Node | None
    ) -> None:
        """Execute a directive of reading; what it reads (Include, a true <If...>) goes to *nodes*."""
        outer = self._nodes, self._parent
        self._nodes = nodes
        self._parent = parent
        self.source.executed = node.place
        try:
            self.state.invoke_all(node, rows)
        except ConfigError as problem:
            if problem.place is None:
                problem.place = node.place
            problem.bare = True
            if not self.configuration.leaves_out(problem):
                raise
        finally:
            self._nodes, self._parent = outer

    def include(self, source: ConfigSource) -> None:
        """Read *source* where the directive that is being executed stands."""
        self.read(source, self._nodes, self._parent)

    def current(self) -> tuple[list[Node], Node | None]:
        """Return the list that is being filled and the section it belongs to."""
        return self._nodes, self._parent

    def soak(self, container: str, argument: str = "") -> None:
        """Skip to the closing tag of *container*: the false case.  Only nesting is checked, with the messages
        of ap_soak_end_container.
        """
        place = self.source.place()
        if self._skipped is None:
            self._soak(container, None)
        else:
            from whimbrel.config.skipped_branches import BranchContents  # most servers read all of their text

            skipped = BranchContents()
            self._soak(container, skipped)
            condition = f"{container} {argument.rpartition('>')[0].strip()}>"
            self._skipped.append(skipped.branch(place, condition, self.configuration.decided_names))

    def _soak(self, container: str, skipped: BranchContents | None) -> None:
        waiting = [container]
        for _number, line in self.source.lines:
            if skipped is not None:
                skipped.add(line)
            if line[0] != "<" and line[0] not in "\"'":
                continue
            word, rest = getword(line)
            if word[:2] == "</":
                if word[2:-1].lower() != waiting[-1][1:].lower():
                    raise ConfigError(f"Expected </{waiting[-1][1:]}> but saw {word[:-1]}>", None)
                waiting.pop()
                if not waiting:
                    return
            elif word[:1] == "<":
                waiting.append(word[:-1] if not rest and word[-1:] == ">" else word)
        raise ConfigError(f"Expected </{waiting[-1][1:]}> before end of configuration", None)

    def expanded(self, line: str) -> str:
        """*line* with its ``${NAME}`` replaced; 2.4 warns about unknown names (AH00111)."""
        line = expand(line, self._lookup, self._undefined)
        if len(line) > MAX_EXPANDED:
            raise LineTooLong(
                f"Line too long: variables make it {len(line)} bytes long", self.source.place(), bare=True
            )
        return line

    def _lookup(self, name: str) -> str | None:
        value = self._variables.get(name.lower())
        if value is None:
            value = self._environment.get(name)
        if value:
            self.configuration.budget.charge(len(value))
        return value

    def _undefined(self, name: str) -> None:
        if not self._keeps_spelling:
            code, _colon, text = undefined_warning(name).partition(": ")
            self.configuration.warn(text, code=code)


def reading(command: Command) -> Reader:
    """Return the reader that executes *command*; only directives marked EXEC_ON_READ have one."""
    if not isinstance(command, CommandContext) or command.reader is None:
        raise TypeError("not while the configuration is being read")
    reader: Reader = command.reader
    return reader
