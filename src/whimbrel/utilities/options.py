"""Command lines as APR's getopt reads them, and the program name of a utility.

Manual: programs/ (htpasswd, htdbm, htdigest, httxt2dbm, rotatelogs, logresolve).  Options come before
operands; `-abc` is three options; an option's argument is in the same word or the next; a word that starts
with `--` ends the options, and so does a word with `-` behind an option letter, which is an operand.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.utilities.usage_error import UsageError


class Exit(Exception):
    """Exit of the utility with *status*, after *message* on standard error."""

    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class UtilityProgram:
    """A utility as it was called: *path* is argv[0], *words* the arguments; *is_22*: it is that of 2.2."""

    path: str
    words: list[str] = field(default_factory=list)
    is_22: bool = False

    @property
    def name(self) -> str:
        """The base name, as it stands before "illegal option"."""
        return self.path.rpartition("/")[2]


def program(path: str, words: list[str]) -> UtilityProgram:
    """Return the program for a command line; a leading `--dialect 2.2` selects the utility of 2.2."""
    is_22 = False
    while words and words[0].partition("=")[0] == "--dialect":
        value, at = (
            (words[0].partition("=")[2], 1) if "=" in words[0] else (words[1] if len(words) > 1 else "", 2)
        )
        if value not in ("2.2", "2.4", "guide"):
            raise Exit(2, f"{path}: --dialect takes 2.2, 2.4 or guide\n")
        is_22, words = value == "2.2", words[at:]
    return UtilityProgram(path, words, is_22)


def parse(
    words: list[str], option_string: str, check: Callable[[str, str], None] = lambda letter, value: None
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return options with their arguments ("" for none), and the operands; *option_string* is getopt's.

    *check* is called with each option before the next one is parsed. Raises UsageError.
    """
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words) and words[at][:1] == "-" and words[at] != "-":
        word, at = words[at], at + 1
        if word.startswith("--"):
            break
        place = 1
        while place < len(word):
            letter, place = word[place], place + 1
            if letter == "-":
                return options, words[at - 1 :]
            index = -1 if letter == ":" else option_string.find(letter)
            if index < 0:
                raise UsageError(f"illegal option -- {letter}")
            if option_string[index + 1 : index + 2] != ":":
                check(letter, "")
                options.append((letter, ""))
                continue
            if place >= len(word):
                if at >= len(words):
                    raise UsageError(f"option requires an argument -- {letter}")
                word, place, at = words[at], 0, at + 1
            check(letter, word[place:])
            options.append((letter, word[place:]))
            break
    return options, words[at:]


def write_stderr(text: str) -> None:
    """Write to standard error and flush."""
    sys.stderr.flush()
    try:
        os.write(2, to_bytes(text))
    except OSError:
        pass


def write_stdout(text: str) -> None:
    """Write to standard output and flush; a closed pipe raises no traceback."""
    data = to_bytes(text)
    try:
        while data:
            data = data[os.write(1, data) :]
    except OSError:
        pass


def start(run: Callable[[UtilityProgram], int], name: str) -> None:
    """Run the utility of the console script `whimbrel-NAME` under httpd's name for it, and exit with its
    status.
    """
    path = (
        from_system(sys.argv[0]) if name == "rotatelogs" else name
    )  # the usage of rotatelogs shows a line of configuration
    sys.exit(exit_status(run, path, [from_system(word) for word in sys.argv[1:]]))


def exit_status(run: Callable[[UtilityProgram], int], path: str, words: list[str]) -> int:
    """Return the exit status of *run* for a command line."""
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    try:
        return run(program(path, words))
    except Exit as end:
        if end.message:
            write_stderr(end.message)
        return end.status
