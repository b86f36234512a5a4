"""Executor of sed scripts: one cycle for each line, with httpd's order of output.

Texts have one character per byte. A text that other commands copy ends at its first NUL, as in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.modules.filters.mod_sed.files import WrittenFiles, read_file
from whimbrel.modules.filters.mod_sed.listing import listed_lines
from whimbrel.modules.filters.mod_sed.script import Address, LastLine, Print, SedCommand, SedScript
from whimbrel.modules.filters.mod_sed.substitution import substituted

MAX_SPACE: Final = 8 << 20  # bytes of the pattern space and of the hold space
MAX_APPENDS: Final = 20  # texts and files that wait for the end of a cycle
MAX_STEPS: Final = 200_000  # commands of one cycle; httpd has no bound


class RunError(Exception):
    """The script cannot go on; the text is APR's for the reason."""


NO_MEMORY: Final = "(12)Cannot allocate memory"
INTERNAL: Final = "(20014)Internal error (specific information not available)"


class Executor:
    """State of a script that runs; *pause* is called between its steps.

    Attributes:
        has_quit: ``q`` has run, or the input has ended.
    """

    def __init__(
        self,
        script: SedScript,
        write: Callable[[str], None],
        log: Callable[[str], None],
        pause: Callable[[], None],
    ) -> None:
        self._commands = script.commands
        self._no_print = script.no_print
        self._error = script.error
        self._write = write
        self._log = log
        self._pause = pause
        self._files = WrittenFiles(script.files)
        self.has_quit = False
        self._space = ""
        self._hold = ""
        self._rest = ""  # the line that is not complete, or that may be the last
        self._more = bytearray()  # further input of an incomplete line: small pieces cost no copy of it
        self._number = 0
        self._is_last = False
        self._has_substituted = False
        self._is_deleted = False
        self._pending: int | None = None
        self._active = [False] * len(script.commands)
        self._appends: list[SedCommand] = []

    def feed(self, text: str) -> None:
        """Run the script on the lines of *text*; the last one waits for more input; raise RunError."""
        if self.has_quit:
            return
        if self._error:
            self._log(self._error)
            raise RunError(INTERNAL)
        if not text:
            return
        if "\n" not in text and not self._rest.endswith("\n"):
            self._more += to_bytes(text)
            if len(self._rest) + len(self._more) > MAX_SPACE:
                raise RunError(NO_MEMORY)
            return
        *lines, rest = (self._incomplete() + text).split("\n")
        if not rest and lines:
            rest = lines.pop() + "\n"
        for line in lines:
            self._cycle(line)
            if self.has_quit:
                return
            self._pause()
        self._rest = rest
        if len(rest) > MAX_SPACE:
            raise RunError(NO_MEMORY)

    def _incomplete(self) -> str:
        """Return the line that may go on, in one piece."""
        if self._more:
            self._rest += to_text(bytes(self._more))
            self._more.clear()
        return self._rest

    def end(self) -> None:
        """Run the script on the last line; raise RunError."""
        if self.has_quit:
            return
        self._is_last = True
        self._incomplete()
        if self._rest or self._space:
            self._cycle(self._rest.removesuffix("\n"))
        self.has_quit = True

    def close(self) -> None:
        """Close the files of ``w``."""
        self._files.close()

    def _line(self, text: str) -> None:
        self._write(text + "\n")

    def _cycle(self, line: str) -> None:
        """Run the script on the next *line*, from the command behind n or N if one has waited for it."""
        self._number += 1
        self._has_substituted = False
        self._set(self._space + line)
        index = 0 if self._pending is None else self._pending
        self._pending = None
        commands = self._commands
        steps = 0
        while index < len(commands):
            steps += 1
            if steps > MAX_STEPS:
                self._log("sed: too many commands for one line")
                raise RunError(INTERNAL)
            if not steps & 63:
                self._pause()
            command = commands[index]
            index += 1
            if not self._selects(index - 1, command):
                continue
            target = self._run(index - 1, command)
            if self.has_quit or self._pending is not None:
                return
            if self._is_deleted:
                break
            if target is not None:
                if target < 0:
                    break
                index = target
        if not self._no_print and not self._is_deleted:
            self._line(self._space)
        self._flush_appends()
        self._is_deleted = False
        self._space = ""

    def _set(self, text: str) -> None:
        if len(text) > MAX_SPACE:
            raise RunError(NO_MEMORY)
        self._space = text

    def _matches(self, address: Address) -> bool:
        if isinstance(address, int):
            return self._number == address
        if isinstance(address, LastLine):
            return self._is_last
        return address.search(until_nul(self._space)) is not None

    def _selects(self, index: int, command: SedCommand) -> bool:
        """Return True if *command* runs on this line."""
        first = command.first
        second = command.second
        if first is None:
            return not command.is_negated
        if self._active[index]:
            assert second is not None
            if isinstance(second, int):
                if self._number > second:
                    self._active[index] = False
                    return command.is_negated
                self._active[index] = self._number != second
            elif not isinstance(second, LastLine) and self._matches(second):
                self._active[index] = False
            return not command.is_negated
        if not self._matches(first):
            return command.is_negated
        if second is not None and not isinstance(first, LastLine):
            self._active[index] = True
        return not command.is_negated

    def _run(self, index: int, command: SedCommand) -> int | None:
        """Run *command*; return the index to branch to, -1 for the end of the script, None to go on."""
        name = command.name
        if name == "s":
            self._substitute(command)
        elif name == "b" or (name == "t" and self._has_substituted):
            if name == "t":
                self._has_substituted = False
            return -1 if command.target is None else command.target
        elif name in ("a", "r"):
            if len(self._appends) >= MAX_APPENDS:
                kind = "appends" if name == "a" else "reads"
                self._log(f"too many {kind} after line {self._number}")
            else:
                self._appends.append(command)
        elif name == "i":
            self._line(command.text)
        elif name == "c":
            self._is_deleted = True
            if not self._active[index] or self._is_last:
                self._line(command.text)
        elif name == "y":
            text, nul, rest = self._space.partition("\0")
            self._space = text.translate(dict(enumerate(command.text))) + nul + rest
        elif name == "w":
            self._files.write(command.file, until_nul(self._space) + "\n")
        elif name in "nNq":
            self._next(index, name)
        else:
            return self._edit(name)
        return None

    def _edit(self, name: str) -> int | None:
        """Run a command of the spaces, or of output."""
        if name == "d":
            self._is_deleted = True
        elif name == "D":
            head, newline, rest = until_nul(self._space).partition("\n")
            if newline:
                self._space = rest
                return 0
            self._is_deleted = True
        elif name == "p":
            self._line(self._space)
        elif name == "P":
            self._line(until_nul(self._space).partition("\n")[0])
        elif name == "=":
            self._line(str(self._number))
        elif name == "l":
            for line in listed_lines(until_nul(self._space)):
                self._line(line)
        elif name == "g":
            self._space = self._hold
        elif name == "G":
            self._set(f"{self._space}\n{self._hold}")
        elif name == "h":
            self._hold = until_nul(self._space)
        elif name == "H":
            self._hold = f"{self._hold}\n{until_nul(self._space)}"
            if len(self._hold) > MAX_SPACE:
                raise RunError(NO_MEMORY)
        elif name == "x":
            self._space, self._hold = self._hold, until_nul(self._space)
        return None

    def _next(self, index: int, name: str) -> None:
        """Run n, N or q."""
        if name != "N" and not self._no_print:
            self._line(self._space)
        self._flush_appends()
        if name == "q":
            self.has_quit = True
            return
        self._space = self._space + "\n" if name == "N" else ""
        self._pending = index + 1

    def _substitute(self, command: SedCommand) -> None:
        assert command.expression is not None
        text, nul, rest = self._space.partition("\0")
        if command.expression.search(text) is None:
            return
        edited = substituted(command.expression, command.replacement, command.count, text, MAX_SPACE)
        if edited is None:
            raise RunError(NO_MEMORY)
        self._has_substituted = edited.count > 0
        if not edited.count:
            return
        self._set(edited.text)
        if command.print is Print.ALL and self._no_print:
            self._line(self._space)
        elif command.print is Print.FIRST_LINE and self._no_print:
            self._line(self._space.partition("\n")[0])
        if command.file >= 0:
            self._files.write(command.file, self._space + "\n")

    def _flush_appends(self) -> None:
        appends, self._appends = self._appends, []
        for command in appends:
            if command.name == "a":
                self._line(command.text)
            else:
                for piece in read_file(command.text):
                    self._write(piece)


def until_nul(text: str) -> str:
    """Return *text* up to its first NUL."""
    return text.partition("\0")[0]
