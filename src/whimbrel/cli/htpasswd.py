"""whimbrel htpasswd: user files for basic authentication, in the format of httpd's htpasswd.

Manual: programs/htpasswd.html. A file is read in lines of at most 255 bytes; a longer line counts as two. A
last line without line end stays without.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start, write_stderr, write_stdout
from whimbrel.utilities.password_prompt import (
    MAX_PASSWORD_BYTES,
    PasswordTooLong,
    prompt_password,
    prompt_twice,
    read_stdin_password,
)
from whimbrel.utilities.usage_error import UsageError

PERMISSION = 1
SYNTAX = 2
DIFFERENT = 3
TOO_LONG = 5
BAD_USER = 6
INVALID = 7
BAD_HASH = 9
_MAX_LINE_BYTES: Final = MAX_PASSWORD_BYTES - 1
_BCRYPT: Final = re.compile(r"\$2[aby]?\$")
_BCRYPT_FULL: Final = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", re.ASCII)
_MODES: Final = "cnvD"


@dataclass(frozen=True, slots=True)
class HtpasswdTask:
    """Task of a command line:

    *mode* is c (create), n (standard output), v (verify), D (delete) or "" (update).
    """

    mode: str
    algorithm: str
    cost: int
    source: str  # where the password comes from: b, i or "" (the terminal)
    path: str
    user: str
    password: str


def main() -> None:
    """Entry point of whimbrel-htpasswd."""
    start(run, "htpasswd")


def run(program: UtilityProgram) -> int:
    """Run one command line; return the exit status. Raises Exit."""
    task = _task(program)
    if task.mode != "n":
        _check_file(program, task)
    if task.mode == "v":
        return _verify(program, task)
    record = "" if task.mode == "D" else _record(program, task)
    if task.mode == "n":
        write_stdout(record + "\n")
    elif task.mode == "c":
        write_stderr(f"Adding password for user {task.user}\n")
        _write(program, task.path, record)
    else:
        _update(program, task, record)
    return 0


def _task(program: UtilityProgram) -> HtpasswdTask:
    options, operands = _options(program)
    letters = [letter for letter, _ in options]
    modes = {letter for letter in letters if letter in _MODES}
    if len(modes) > 1:
        raise _conflict(program, modes)
    mode = "".join(modes)
    source = ["", *(letter for letter in letters if letter in "bi")][-1]
    cost = [0, *(_positive(program, value) for letter, value in options if letter in "Cr")][-1]
    algorithm = ["m", *(letter for letter in letters if letter in "msdpB25")][-1]
    supplied = letters.count("b") if program.is_22 else int(source == "b")
    if len(operands) != 2 + supplied - letters.count("n") or len(operands) < 2 - (mode == "n"):
        raise Exit(SYNTAX, _usage(program))
    path = "" if mode == "n" else operands.pop(0)
    password = operands[1] if source == "b" and len(operands) > 1 else ""
    _check_words(program, operands[0], password)
    if program.is_22 and algorithm == "p":
        _warn_plain()
    return HtpasswdTask(mode, algorithm, cost, source, path, operands[0], password)


def _warn_plain() -> None:
    from whimbrel.modules.support.auth.hashing import PLAIN_WARNING

    write_stderr(PLAIN_WARNING)


def _options(program: UtilityProgram) -> tuple[list[tuple[str, str]], list[str]]:
    def check(letter: str, value: str) -> None:
        if letter in "Cr":
            _positive(program, value)
        elif letter == "p":
            _warn_plain()

    try:
        return (
            parse(program.words, "cnmspdbD")
            if program.is_22
            else parse(program.words, "cnmspdBbDi25C:r:v", check)
        )
    except UsageError as problem:
        message = "" if program.is_22 else f"{program.name}: {problem.message}\n"
        raise Exit(SYNTAX, message + _usage(program)) from None


def _usage(program: UtilityProgram) -> str:
    return usage.HTPASSWD_22 if program.is_22 else usage.HTPASSWD


def _conflict(program: UtilityProgram, modes: set[str]) -> Exit:
    if program.is_22:
        first, second = [letter for letter in _MODES if letter in modes][:2]
        return Exit(SYNTAX, f"{program.path}: -{first} and -{second} options conflict\n")
    return Exit(SYNTAX, f"{program.path}: only one of -c -n -v -D may be specified\n")


def _positive(program: UtilityProgram, value: str) -> int:
    if re.fullmatch(r"[ \t\n\v\f\r]*\+?[0-9]+", value) is None or int(value) == 0:
        raise Exit(SYNTAX, f"{program.path}: argument to -C/-r must be a positive integer\n")
    return int(value)


def _check_words(program: UtilityProgram, user: str, password: str) -> None:
    if len(user) > _MAX_LINE_BYTES:
        raise Exit(
            TOO_LONG,
            f"{program.path}: "
            + (
                "resultant record too long\n"
                if program.is_22
                else f"username too long (> {_MAX_LINE_BYTES})\n"
            ),
        )
    if ":" in user:
        raise Exit(BAD_USER, f"{program.path}: username contains illegal character ':'\n")
    if len(password) >= MAX_PASSWORD_BYTES:
        raise Exit(TOO_LONG, f"{program.path}: password too long (> {MAX_PASSWORD_BYTES})\n")


def _check_file(program: UtilityProgram, task: HtpasswdTask) -> None:
    name = to_bytes(task.path)
    try:
        is_file = stat.S_ISREG(os.stat(name).st_mode)
    except OSError:
        is_file = False
    if is_file:
        needed, words = (os.R_OK, "read") if task.mode == "v" else (os.R_OK | os.W_OK, "read/write")
        if not os.access(name, needed):
            raise Exit(PERMISSION, f"{program.path}: cannot open file {task.path} for {words} access\n")
    elif task.mode != "c":
        raise Exit(PERMISSION, f"{program.path}: cannot modify file {task.path}; use '-c' to create it\n")
    else:
        try:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT, 0o666))
        except OSError:
            raise Exit(PERMISSION, f"{program.path}: cannot create file {task.path}\n") from None


def _record(program: UtilityProgram, task: HtpasswdTask) -> str:
    from whimbrel.modules.support.auth.hashing import HashError, cost_warning, hash_password

    write_stderr(cost_warning(task.algorithm, task.cost))
    password = task.password if task.source == "b" else _prompted_password(program, task)
    try:
        result = hash_password(password, task.algorithm, task.cost)
    except HashError as problem:
        raise Exit(DIFFERENT, f"{program.path}: {problem}\n") from None
    if result.warning:
        write_stderr(result.warning)
    record = f"{task.user}:{result.stored}"
    if len(record) >= _MAX_LINE_BYTES:
        raise Exit(TOO_LONG, f"{program.path}: resultant record too long\n")
    return record + "\n"


def _prompted_password(program: UtilityProgram, task: HtpasswdTask) -> str:
    try:
        if task.source == "i":
            return read_stdin_password()
        password = prompt_password("Enter password: ") if task.mode == "v" else prompt_twice()
    except PasswordTooLong:
        message = f"password too long (>{MAX_PASSWORD_BYTES})\n"
        raise Exit(TOO_LONG, message if task.mode == "v" else f"{program.path}: {message}") from None
    if password is None:
        raise Exit(DIFFERENT, f"{program.path}: password verification error\n")
    return password


def _verify(program: UtilityProgram, task: HtpasswdTask) -> int:
    from whimbrel.modules.support.auth.passwords import verify

    password = task.password if task.source == "b" else None
    is_listed = False
    for _, user, stored in _lines(program, task.path):  # to the end: a broken line further down counts
        if user == task.user:
            is_listed, password = True, _prompted_password(program, task) if password is None else password
            _check_hash(user, stored)
            if not verify(password, stored):
                raise Exit(DIFFERENT, "password verification failed\n")
    if not is_listed:
        raise Exit(BAD_USER, f"User {task.user} not found\n")
    write_stderr(f"Password for user {task.user} correct.\n")
    return 0


def _check_hash(user: str, stored: str) -> None:
    if not stored:
        raise Exit(INVALID, f"Empty hash for user {user}\n")
    if _BCRYPT.match(stored) and not _BCRYPT_FULL.fullmatch(stored):
        raise Exit(BAD_HASH, "Could not verify password: Invalid argument\n")


def _update(program: UtilityProgram, task: HtpasswdTask, record: str) -> None:
    doing = "Deleting" if task.mode == "D" else "Updating"
    lines = []
    count = 0
    for line, user, _ in _lines(program, task.path):
        if user == task.user:
            count += 1
            write_stderr(f"{doing} ")
            lines.append(record)
        else:
            lines.append(line)
    if count:
        write_stderr(f"password for user {task.user}\n")
    elif task.mode == "D":
        write_stderr(f"User {task.user} not found\n")
    else:
        write_stderr(f"Adding password for user {task.user}\n")
        lines.append(record)
    _write(program, task.path, "".join(lines))


def _lines(program: UtilityProgram, path: str) -> Iterator[tuple[str, str | None, str]]:
    """Yield each line, its user (None for a comment or an empty line) and the text behind the colon.

    Raises Exit.
    """
    with open(to_bytes(path), "rb") as file:
        while line := to_text(file.readline(_MAX_LINE_BYTES)):
            content = line.lstrip(" \t\n\v\f\r").partition("\0")[0]
            if not content or content.startswith("#"):
                yield line, None, ""
                continue
            user, colon, stored = content.partition(":")
            if not colon:
                raise Exit(
                    INVALID, f"{program.path}: The file {path} does not appear to be a valid htpasswd file.\n"
                )
            yield line, user, stored.rstrip("\r\n")


def _write(program: UtilityProgram, path: str, content: str) -> None:
    from whimbrel.base.file_writing import write_named

    try:
        write_named(to_bytes(path), to_bytes(content))
    except OSError:
        raise Exit(PERMISSION, f"{program.path}: unable to update file {path}\n") from None
