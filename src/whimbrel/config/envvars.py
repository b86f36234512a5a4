"""Reader of envvars, the shell file of variables beside a configuration, without a shell.

It reads assignments, export, unset, sourced files, and if with tests of strings and files: Debian's stock
file in full. What else stands there is not carried out: a variable that depends on it is not decided.
Source: POSIX.1-2017, Shell Command Language, 2.2 (quoting), 2.6.2 (parameter expansion).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from whimbrel.base.errors import SourceLocation, UndecidedVariables
from whimbrel.base.file_reading import read_variables
from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import from_system
from whimbrel.base.lazy_dataclasses import dataclass, field

MAX_BYTES: Final = 1024 * 1024
"""Bytes of one file of variables."""
MAX_VALUE: Final = 128 * 1024
"""Characters of a value, as in the environment of a program (MAX_ARG_STRLEN of Linux)."""
MAX_DEPTH: Final = 8
"""Files that source each other, and if within if."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(=)", re.DOTALL)
_CHANGE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=", re.DOTALL)
"""An assignment, or one that appends, which bash carries out and other shells do not."""
_NO_EFFECT: Final = frozenset((":", "true", "ulimit", "umask"))
_PLAIN: Final = re.compile(r"[\w./ -]{1,80}", re.ASCII)
_BLOCKS: Final = {
    "if": "fi",
    "case": "esac",
    "for": "done",
    "while": "done",
    "until": "done",
    "{": "}",
    "(": ")",
}
_BEFORE_COMMAND: Final = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "("))


class ShellUndecided(Exception):
    """A word or condition that only a shell can evaluate."""


@dataclass(slots=True)
class Envvars:
    """Variables after the file.

    Attributes:
        values: of the exported variables.
        undecided: the parts that were not carried out.
    """

    values: dict[str, str]
    undecided: list[UndecidedVariables] = field(default_factory=list)


def read(path: str, environment: Mapping[str, str], *, exports_all: bool = False) -> Envvars:
    """Return *environment* after the file; raises OSError. *exports_all*: a service exports all variables."""
    shell = _Shell(environment)
    shell.source(path, 0)
    names = shell.values if exports_all else shell.exported
    values = {name: shell.values[name] for name in names if name in shell.values}
    return Envvars(values, shell.undecided)


@dataclass(slots=True)
class _Word:
    """A word as written, or an operator (``;``, ``&&``, ``||``, or what else separates commands)."""

    text: str
    line: int
    is_operator: bool = False


_OPERATORS: Final = re.compile(r"&&|\|\||;;|[;&|()<>]")


def _words(text: str) -> list[_Word]:
    """Split *text* into words and operators; a line end is the operator ``;``."""
    found = list[_Word]()
    at = 0
    line = 1
    size = len(text)
    while at < size:
        char = text[at]
        if char == "\n":
            found.append(_Word(";", line, is_operator=True))
            at, line = at + 1, line + 1
        elif char in " \t\r":
            at += 1
        elif text.startswith("\\\n", at):
            at, line = at + 2, line + 1
        elif char == "#":
            at = _or_end(text.find("\n", at), size)
        elif (operator := _OPERATORS.match(text, at)) is not None:
            found.append(_Word(operator[0], line, is_operator=True))
            at = operator.end()
        else:
            end = _end_of_word(text, at)
            found.append(_Word(text[at:end], line))
            line += text.count("\n", at, end)
            at = end
    found.append(_Word(";", line, is_operator=True))
    return found


def _or_end(at: int, size: int) -> int:
    return size if at < 0 else at


def _end_of_word(text: str, at: int) -> int:
    """Return where the word at *at* ends; an open quote ends with the text."""
    size = len(text)
    while at < size and text[at] not in " \t\r\n;&|()<>":
        char = text[at]
        if char == "\\":
            at += 2
        elif char == "'":
            at = _or_end(text.find("'", at + 1), size) + 1
        elif char == '"':
            at = _end_of_quoted(text, at + 1)
        elif text.startswith("${", at):
            at = _end_of_braces(text, at + 2)
        elif char == "`":
            at = _or_end(text.find("`", at + 1), size) + 1
        elif text.startswith("$(", at):
            at = _end_of_substitution(text, at + 2)
        else:
            at += 1
    return min(at, size)


def _end_of_quoted(text: str, at: int) -> int:
    while at < len(text) and text[at] != '"':
        if text[at] == "\\":
            at += 2
        elif text.startswith("${", at):
            at = _end_of_braces(text, at + 2)
        elif text.startswith("$(", at):
            at = _end_of_substitution(text, at + 2)
        else:
            at += 1
    return at + 1


def _end_of_braces(text: str, at: int) -> int:
    depth = 1
    while at < len(text) and depth:
        if text[at] == "\\":
            at += 1
        elif text.startswith("${", at):
            depth, at = depth + 1, at + 1
        elif text[at] == "}":
            depth -= 1
        at += 1
    return at


def _end_of_substitution(text: str, at: int) -> int:
    depth = 1
    while at < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at


class _Shell:
    """The variables, and the commands that change them."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.values = dict(environment)
        self.exported = dict.fromkeys(environment)
        self.undecided = list[UndecidedVariables]()
        self._unknown = set[str]()
        self._is_over = False
        self._path = ""
        self._first = ""

    def source(self, path: str, depth: int) -> None:
        """Read a file; raises OSError."""
        text = read_variables(path, MAX_BYTES)
        before, self._path = self._path, path
        self._first = self._first or path
        try:
            self._run(_words(text), depth)
        finally:
            self._path = before
            self._is_over = False

    # commands -------------------------------------------------------------------------------------
    def _run(self, words: list[_Word], depth: int) -> None:
        """Carry out the commands of *words*."""
        at = 0
        while at < len(words) and not self._is_over:
            first = words[at]
            if first.is_operator and first.text == ";":
                at += 1
            elif first.text in ("exit", "return"):
                self._is_over = True
            elif _is_heredoc(words, at):
                self._skip(words[at:])  # what follows is no list of commands
                return
            elif [word.text for word in words[at + 1 : at + 3]] == ["(", ")"]:
                end = _end_of_function(words, at)
                self._skip(words[at:end])
                at = end
            elif first.text in _BLOCKS:
                end = _end_of_block(words, at)
                if first.text == "if" and depth < MAX_DEPTH:
                    self._if(words[at:end], depth)
                else:
                    self._skip(words[at:end])
                at = end
            else:
                end = _end_of_command(words, at)
                self._command(words[at:end], depth)
                at = end

    def _command(self, words: list[_Word], depth: int) -> None:
        if any(word.is_operator for word in words):
            self._skip(words)
            return
        name, *rest = words
        if _ASSIGNMENT.match(name.text) is not None:
            if all(_ASSIGNMENT.match(word.text) for word in words):
                for word in words:
                    self._assign(word)
            else:
                self._skip(words)  # variables of one command
        elif name.text == "export":
            self._export(rest)
        elif name.text == "unset":
            for word in rest:
                self.values.pop(word.text, None)
                self.exported.pop(word.text, None)
                self._unknown.discard(word.text)
        elif name.text in (".", "source") and len(rest) == 1 and depth < MAX_DEPTH:
            self._source(rest[0], depth)
        elif name.text not in _NO_EFFECT:
            self._skip(words)

    def _source(self, word: _Word, depth: int) -> None:
        try:
            path = self._expanded(word.text)
            if "/" not in path:
                raise ShellUndecided  # it is searched in PATH
            self.source(path, depth + 1)
        except (ShellUndecided, OSError):
            self._note(word.line, f". {word.text}")

    def _export(self, words: list[_Word]) -> None:
        """Carry out export: its arguments are expanded before the first one is assigned."""
        values = dict[str, str]()
        for word in words:
            name, equals, value = word.text.partition("=")
            if _NAME.fullmatch(name) is None:
                appended = _CHANGE.match(word.text)
                self._lose(appended[1], word.line) if appended else self._note(word.line, "export")
                continue
            self.exported[name] = None
            try:
                if equals:
                    values[name] = self._expanded(value, is_value=True)
            except ShellUndecided:
                self._lose(name, word.line)
        self.values |= values
        self._unknown -= values.keys()

    def _assign(self, word: _Word) -> None:
        name, _, value = word.text.partition("=")
        try:
            self.values[name] = self._expanded(value, is_value=True)
            self._unknown.discard(name)
        except ShellUndecided:
            self._lose(name, word.line)

    def _lose(self, name: str, line: int) -> None:
        self.values.pop(name, None)
        self._unknown.add(name)
        self._note(line, f"{name} is")

    def _note(self, line: int, what: str) -> None:
        """Note a part that is not carried out; nothing of a sourced file is shown, which may be any file."""
        text = "not carried out, since the tools run no shell"
        matters = True
        if _NAME.fullmatch(what.removesuffix(" is")) and what.endswith(" is"):
            # a line of the configuration that uses the variable is an item of its own
            text = f"{what} not decided: the tools run no shell"
            matters = False
        elif self._path == self._first and _PLAIN.fullmatch(what):
            text = f"{text}: {what}"
        place = SourceLocation(from_system(self._path), line)
        self.undecided.append(UndecidedVariables(text, place, matters=matters))

    def _skip(self, words: list[_Word]) -> None:
        """Lose every variable that *words* could change."""
        names = {word.text: word.line for word in words if not word.is_operator}
        found = {match[1]: line for text, line in names.items() if (match := _CHANGE.match(text))}
        for name, line in found.items():
            self._lose(name, line)
        if not found:
            self._note(words[0].line, words[0].text)

    # if -------------------------------------------------------------------------------------------
    def _if(self, words: list[_Word], depth: int) -> None:
        """Carry out the branch whose condition holds."""
        branches, last = _branches(words)
        for condition, commands in branches:
            try:
                if self._holds(condition):
                    self._run(commands, depth + 1)
                    return
            except ShellUndecided:
                self._skip(words)
                return
        self._run(last, depth + 1)

    def _holds(self, words: list[_Word]) -> bool:
        """Return the value of a condition: tests joined by ``&&`` and ``||``; raises ShellUndecided."""
        words = [word for word in words if word.text != ";"]
        result = True
        joined = "&&"
        at = 0
        while at < len(words):
            end = next((i for i in range(at, len(words)) if words[i].is_operator), len(words))
            value = self._test([word.text for word in words[at:end]])
            result = (result and value) if joined == "&&" else (result or value)
            joined = words[end].text if end < len(words) else ""
            if joined not in ("&&", "||", ""):
                raise ShellUndecided
            at = end + 1
        return result

    def _test(self, words: list[str]) -> bool:
        if words[:1] == ["!"]:
            return not self._test(words[1:])
        if words in (["true"], [":"]):
            return True
        if words[:1] == ["["] and words[-1] == "]":
            return self._test_holds([self._expanded(word) for word in words[1:-1]])
        if words[:1] == ["test"]:
            return self._test_holds([self._expanded(word) for word in words[1:]])
        raise ShellUndecided

    def _test_holds(self, words: list[str]) -> bool:
        """Return the value of test(1) with these arguments; raises ShellUndecided."""
        match words:
            case ["!", *rest]:
                return not self._test_holds(rest)
            case [text]:
                return text != ""
            case ["-n", text]:
                return text != ""
            case ["-z", text]:
                return text == ""
            case ["-e" | "-f" | "-d" | "-r" as kind, path]:
                check = {"-e": os.path.exists, "-f": os.path.isfile, "-d": os.path.isdir}.get(kind)
                return check(path) if check else os.access(path, os.R_OK)
            case [left, "=" | "==", right]:
                return left == right
            case [left, "!=", right]:
                return left != right
        raise ShellUndecided

    # words ----------------------------------------------------------------------------------------
    def _expanded(self, text: str, *, is_value: bool = False) -> str:
        """Return a word without its quotes, with its variables expanded; raises ShellUndecided.

        Outside of an assignment (*is_value*), an expansion that the shell would split or match is undecided.
        """
        out = list[str]()
        at = 0
        length = 0
        while at < len(text):
            char = text[at]
            if char == "\\":
                piece, at = text[at + 1 : at + 2], at + 2
            elif char == "'":
                end = _or_end(text.find("'", at + 1), len(text))
                piece, at = text[at + 1 : end], end + 1
            elif char == '"':
                end = _end_of_quoted(text, at + 1)
                piece, at = self._quoted(text[at + 1 : end - 1]), end
            elif char == "$":
                piece, at = self._variable(text, at)
                if not is_value and re.search(r"[\s*?\[]", piece):
                    raise ShellUndecided
            elif char == "`" or (char == "~" and not at) or (not is_value and char in "*?"):
                raise ShellUndecided
            else:
                piece, at = char, at + 1
            out.append(piece)
            length += len(piece)
            if length > MAX_VALUE:
                raise ShellUndecided
        return "".join(out)

    def _quoted(self, text: str) -> str:
        out = list[str]()
        at = 0
        while at < len(text):
            char = text[at]
            if char == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                out.append("" if text[at + 1] == "\n" else text[at + 1])
                at += 2
            elif char == "$":
                piece, at = self._variable(text, at)
                out.append(piece)
            elif char == "`":
                raise ShellUndecided
            else:
                out.append(char)
                at += 1
        return "".join(out)

    def _variable(self, text: str, at: int) -> tuple[str, int]:
        """Return the value of the expansion at *at*, and where it ends; raises ShellUndecided."""
        if text.startswith("${", at):
            end = _end_of_braces(text, at + 2)
            return self._braces(text[at + 2 : end - 1]), end
        name = _NAME.match(text, at + 1)
        if name is None:
            if at + 1 < len(text) and text[at + 1] not in "\"' \t/":
                raise ShellUndecided
            return "$", at + 1
        return self._value(name[0]) or "", name.end()

    def _value(self, name: str) -> str | None:
        if name in self._unknown:
            raise ShellUndecided
        return self.values.get(name)

    def _braces(self, text: str) -> str:
        """Return the value of ``${TEXT}``; raises ShellUndecided."""
        name = _NAME.match(text)
        if name is None:
            raise ShellUndecided
        value = self._value(name[0])
        rest = text[name.end() :]
        if not rest:
            return value or ""
        is_empty_unset = rest[0] == ":"
        operator, word = (rest[1:2], rest[2:]) if is_empty_unset else (rest[0], rest[1:])
        has_value = value is not None and not (is_empty_unset and not value)
        if operator in ("-", "="):
            chosen = value if has_value and value is not None else self._expanded(word, is_value=True)
            if operator == "=":
                self.values[name[0]] = chosen
            return chosen
        if operator == "+":
            return self._expanded(word, is_value=True) if has_value else ""
        if operator in ("#", "%") and not is_empty_unset:
            return self._trimmed(value or "", operator, word)
        raise ShellUndecided

    def _trimmed(self, value: str, operator: str, word: str) -> str:
        """Return *value* without the shortest, or with a doubled operator longest, end that matches."""
        is_longest = word.startswith(operator)
        pattern = word[1:] if is_longest else word
        if any(char in pattern for char in "\\\"'$`"):
            raise ShellUndecided
        found = compile_fnmatch(pattern)
        ends = range(len(value) + 1)
        parts = (
            [(value[:end], value[end:]) for end in ends]
            if operator == "#"
            else [(value[end:], value[:end]) for end in reversed(ends)]
        )
        if len(value) > 4096:
            raise ShellUndecided
        for part, rest in reversed(parts) if is_longest else parts:
            if found.search(part) is not None:
                return rest
        return value


def _end_of_command(words: list[_Word], at: int) -> int:
    """Return where the list of commands at *at* ends: with its line."""
    return next(
        (i for i in range(at, len(words)) if words[i].text == ";" and words[i].is_operator), len(words)
    )


def _is_heredoc(words: list[_Word], at: int) -> bool:
    line = words[at : _end_of_command(words, at)]
    return any(a.text == b.text == "<" and a.is_operator for a, b in zip(line, line[1:], strict=False))


def _end_of_function(words: list[_Word], at: int) -> int:
    """Return where the definition of a function at *at* ends."""
    body = next((i for i in range(at + 3, len(words)) if words[i].text != ";"), len(words))
    return _end_of_block(words, body) if body < len(words) else body


class _Nesting:
    """The compound commands around a word."""

    def __init__(self) -> None:
        self.ends = list[str]()
        self._is_first = True

    def enter(self, word: _Word) -> str:
        """Take the next word; return it if it is in the place of a command, else ""."""
        command = word.text if self._is_first or word.is_operator else ""
        if self.ends and command == self.ends[-1]:
            self.ends.pop()
        elif command in _BLOCKS and (self._is_first or command == "("):
            self.ends.append(_BLOCKS[command])
        self._is_first = word.is_operator or command in _BEFORE_COMMAND
        return command


def _end_of_block(words: list[_Word], at: int) -> int:
    """Return where the compound command at *at* ends, and the rest of its line."""
    nesting = _Nesting()
    for i in range(at, len(words)):
        nesting.enter(words[i])
        if not nesting.ends:
            return _end_of_command(words, i)
    return len(words)


def _branches(words: list[_Word]) -> tuple[list[tuple[list[_Word], list[_Word]]], list[_Word]]:
    """Return the conditions of an if with their commands, and the commands of else."""
    parts = list[tuple[str, list[_Word]]]()
    nesting = _Nesting()
    for word in words:
        command = nesting.enter(word)
        if len(nesting.ends) == 1 and command in ("if", "elif", "then", "else"):
            parts.append((command, []))
        elif nesting.ends and parts:
            parts[-1][1].append(word)
    branches = list[tuple[list[_Word], list[_Word]]]()
    last = list[_Word]()
    condition = list[_Word]()
    for kind, found in parts:
        if kind in ("if", "elif"):
            condition = found
        elif kind == "then":
            branches.append((condition, found))
        else:
            last = found
    return branches, last
