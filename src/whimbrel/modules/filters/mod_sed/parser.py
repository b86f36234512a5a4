"""Parser of sed scripts, with the limits and the messages of httpd's sed.

Each OutputSed or InputSed line continues the script of the lines before it.
"""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.modules.filters.mod_sed.arguments import (
    ArgumentError,
    inserted_text,
    parse_replacement,
    parse_table,
)
from whimbrel.modules.filters.mod_sed.regexp import (
    BadExpression,
    BasicExpression,
    compile_expression,
    constant_expression,
)
from whimbrel.modules.filters.mod_sed.script import (
    ALL_MATCHES,
    Address,
    LastLine,
    Print,
    SedCommand,
    SedScript,
)

MAX_LINE: Final = 1000  # characters; a longer line, and all behind it, is ignored
ROOM: Final = 10_000  # bytes of httpd's compiled addresses, expressions and texts
MAX_NUMBERS: Final = 256
MAX_LABELS: Final = 49
MAX_LABEL: Final = 7
MAX_FILES: Final = 11
MAX_COUNT: Final = 512
_GARBLED: Final = "command garbled: %s"
_NO_EXPRESSION: Final = "first RE may not be null"
_TOO_MUCH: Final = "too much command text: %s"
_ONE_ADDRESS: Final = "only one address allowed: %s"


class ScriptError(Exception):
    """The script is wrong; the text is httpd's message."""


@dataclass(slots=True)
class _Draft:
    """A command whose branch has no target yet.

    *label*: of a branch, "" for the end of the script, None for other commands; *block_end*: the index behind
    a block.
    """

    name: str = ""
    first: Address | None = None
    second: Address | None = None
    is_negated: bool = False
    text: str = ""
    expression: BasicExpression | None = None
    replacement: tuple[str | int, ...] = ()
    count: int = 0
    print: Print = Print.NOTHING
    file: int = -1
    label: str | None = None
    block_end: int | None = None


class Parser:
    """State of a script between its lines."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._labels: dict[str, int | None] = {}
        self._blocks: list[_Draft] = []
        self._files: list[str] = []
        self._no_print = False
        self._size = 0
        self._numbers = 0
        self._groups = 0
        self._last: Address | None = None  # the address or expression that // repeats
        self._line = ""
        self._at = 0

    def add(self, text: str) -> None:
        """Parse *text*; raise ScriptError."""
        for number, line in enumerate(script_lines(text)):
            if number == 0 and line.startswith("#"):
                self._no_print = self._no_print or line[1:2] == "n"
                continue
            self._line = line
            self._at = 0
            while self._command():
                pass

    def script(self) -> SedScript:
        """Return the script so far."""
        error = "too many {'s" if self._blocks else ""
        for label, index in self._labels.items():
            if index is None and not error:
                error = f"undefined label: {label}"
        ends = [index for index, draft in enumerate(self._drafts) if draft.label == ""]
        following = dict(zip(ends, ends[1:], strict=False))
        commands = tuple(
            SedCommand(
                draft.name,
                draft.first,
                draft.second,
                draft.is_negated,
                draft.text,
                draft.expression,
                draft.replacement,
                draft.count,
                draft.print,
                draft.file,
                self._target(index, draft, following),
            )
            for index, draft in enumerate(self._drafts)
        )
        return SedScript(commands, tuple(self._files), self._no_print, error)

    def _target(self, index: int, draft: _Draft, following: dict[int, int]) -> int | None:
        """Return the target of a branch; httpd chains the branches to the end, each leads to the next."""
        if draft.name == "D":
            return 0
        if draft.label is None:
            return draft.block_end
        return self._labels[draft.label] if draft.label else following.get(index)

    def _peek(self) -> str:
        return self._line[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        self._at += 1
        return char

    def _failure(self, message: str) -> ScriptError:
        return ScriptError(message.replace("%s", self._line))

    def _skip_blanks(self) -> None:
        while self._peek() in (" ", "\t"):
            self._at += 1

    def _command(self) -> bool:
        """Parse one command; return True if the line goes on behind it."""
        while self._peek() in (" ", "\t", ";") and self._peek():
            self._at += 1
        if self._peek() in ("", "#"):
            return False
        draft = _Draft()
        self._addresses(draft)
        if self._size > ROOM - 1:
            raise ScriptError(_TOO_MUCH)
        self._skip_blanks()
        name = self._take()
        while name == "!":
            draft.is_negated = True
            name = self._take()
        if name == "{":
            draft.name, draft.is_negated = "b", not draft.is_negated
            self._drafts.append(draft)
            self._blocks.append(draft)
            return bool(self._peek())
        if name in ("}", ":") and name:
            if draft.first is not None:
                raise self._failure("no addresses allowed: %s")
            if name == ":":
                self._define()
            elif not self._blocks:
                raise ScriptError("too many }'s")
            else:
                self._blocks.pop().block_end = len(self._drafts)
            return False
        draft.name = name
        self._arguments(draft)
        self._drafts.append(draft)
        end = self._take()
        if end not in ("", ";"):
            raise self._failure(_GARBLED)
        return bool(end)

    # addresses --------------------------------------------------------------------------------
    def _addresses(self, draft: _Draft) -> None:
        found, first = self._address(is_second=False)
        if not found:
            return
        if first is None:
            if self._last is None:
                raise ScriptError(_NO_EXPRESSION)
            draft.first = self._last
            return
        draft.first = first
        self._last = first
        if self._peek() in (",", ";") and self._peek():
            self._at += 1
            found, second = self._address(is_second=True)
            if not found:
                raise self._failure(_GARBLED)
            draft.second = self._last if second is None else second
            self._last = draft.second

    def _address(self, *, is_second: bool) -> tuple[bool, Address | None]:
        """Return True and the address, None for an empty expression; False if there is none.

        A wrong expression counts as none: httpd parses what follows its delimiter as a command.
        """
        char = self._peek()
        if char == "$":
            if self._size > ROOM - 2:
                raise self._failure(_GARBLED)
            self._at += 1
            self._size += 2
            return True, LastLine.LAST
        if char in ("/", "\\") and char:
            self._at += 1 + (char == "\\")
            delimiter = self._line[self._at - 1 : self._at]
            try:
                compiled = compile_expression(self._line, self._at, delimiter, self._room())
            except BadExpression:
                return False, None
            self._at = compiled.end
            self._size += compiled.size
            return True, compiled.expression
        start = self._at
        while is_digits(self._peek()):
            self._at += 1
        if start == self._at:
            return False, None
        self._numbers += 1
        if self._size > ROOM - 3 or self._numbers >= MAX_NUMBERS:
            raise self._failure(_GARBLED)
        self._size += 3
        return True, decimal(self._line[start : self._at]) & ((1 << 63) - 1)

    def _room(self) -> int:
        return ROOM - 2 - self._size

    # arguments --------------------------------------------------------------------------------
    def _arguments(self, draft: _Draft) -> None:
        name = draft.name
        if name in "=aiqr" and name and draft.second is not None:
            raise self._failure(_ONE_ADDRESS)
        if name in ("a", "c", "i"):
            if self._peek() == "\\":
                self._at += 1
            if self._take() != "\n":
                raise self._failure(_GARBLED)
            draft.text = self._text()
        elif name == "r":
            if self._take() != " ":
                raise self._failure(_GARBLED)
            draft.text = self._text()
        elif name in ("b", "t"):
            draft.label = self._label()
            if draft.label:
                self._declare(draft.label, None)
        elif name == "s":
            self._substitution(draft)
        elif name == "w":
            draft.file = self._file()
        elif name == "y":
            self._table(draft)
        elif name not in ("=", "g", "G", "h", "H", "n", "N", "p", "P", "d", "D", "q", "l", "x"):
            raise self._failure("unrecognized command: %s")

    def _text(self) -> str:
        text = inserted_text(self._line[self._at :])
        self._at = len(self._line)
        self._size += len(text) + 1
        if self._size > ROOM:
            raise ScriptError("(null)")
        return text

    def _label(self) -> str:
        while self._peek() == " ":
            self._at += 1
        label = self._line[self._at :]
        if len(label) > MAX_LABEL:
            raise self._failure("label too long: %s")
        self._at = len(self._line)
        return label

    def _define(self) -> None:
        label = self._label()
        if not label or self._labels.get(label) is not None:
            raise self._failure("duplicate labels: %s")
        self._declare(label, len(self._drafts))

    def _declare(self, label: str, index: int | None) -> None:
        is_new = label not in self._labels
        if is_new or index is not None:
            self._labels[label] = index
        if is_new and len(self._labels) >= MAX_LABELS:
            raise self._failure("too many labels: %s")

    def _file(self) -> int:
        if self._take() != " ":
            raise self._failure("Space missing before filename: %s")
        name = inserted_text(self._line[self._at :])
        self._at = len(self._line)
        if name not in self._files:
            if len(self._files) >= MAX_FILES:
                raise ScriptError("too many files in w commands")
            self._files.append(name)
        return self._files.index(name)

    def _table(self, draft: _Draft) -> None:
        if self._size + 255 > ROOM - 1:
            raise self._failure(_TOO_MUCH)
        try:
            draft.text, self._at = parse_table(self._line, self._at)
        except ArgumentError as problem:
            raise self._failure(str(problem)) from None
        self._size += 256

    def _substitution(self, draft: _Draft) -> None:
        delimiter = self._take()
        try:
            compiled = compile_expression(self._line, self._at, delimiter, self._room())
        except BadExpression as problem:
            raise self._failure(str(problem)) from None
        self._at = compiled.end
        self._size += compiled.size
        if compiled.expression is None:
            if self._last is None:
                raise ScriptError(_NO_EXPRESSION)
            is_expression = isinstance(self._last, BasicExpression)
            draft.expression = self._last if is_expression else constant_expression()  # type: ignore[assignment]
        else:
            draft.expression = compiled.expression
            self._last = draft.expression
            self._groups = compiled.expression.groups
        try:
            draft.replacement, end = parse_replacement(self._line, self._at, delimiter, self._groups)
        except ArgumentError as problem:
            raise self._failure(str(problem)) from None
        self._size += end - self._at
        self._at = end
        if self._size > ROOM - 1:
            raise self._failure(_TOO_MUCH)
        self._flags(draft)

    def _flags(self, draft: _Draft) -> None:
        """Parse the flags of ``s``, whose order is fixed."""
        if self._peek() == "g":
            self._at += 1
            draft.count = ALL_MATCHES
        if "1" <= self._peek() <= "9":
            count = 0
            while is_digits(self._peek()):
                count = count * 10 + decimal(self._take())
                if count > MAX_COUNT:
                    raise self._failure("suffix too large: %s")
            draft.count = count
        for char, value in (("p", Print.ALL), ("P", Print.FIRST_LINE)):
            if self._peek() == char:
                self._at += 1
                draft.print = value
        if self._peek() == "w":
            self._at += 1
            draft.file = self._file()


def script_lines(text: str) -> list[str]:
    """Return the lines of *text*, at newlines without a backslash before them.

    A text that ends with a backslash loses its last line; an overlong line ends the script.
    """
    lines = []
    line = ""
    at = 0
    while at < len(text):
        char = text[at]
        if char == "\n":
            lines.append(line)
            line = ""
        elif char == "\\":
            if at + 1 == len(text):
                return _short(lines)
            line += text[at : at + 2]
            at += 1
        else:
            line += char
        at += 1
    lines.append(line)
    return _short(lines)


def _short(lines: list[str]) -> list[str]:
    for number, line in enumerate(lines):
        if len(line) > MAX_LINE:
            return lines[:number]
    return lines
