"""whimbrel htpasswd: user files for basic authentication, as httpd's htpasswd keeps them.

Manual: programs/htpasswd.html.  A file is read in lines of at most 255 bytes; a longer line is two.  A last line without line end gets none.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import Final

from whimbrel.octets import raw, text
from whimbrel.records import dataclass
from whimbrel.utilities import usage
from whimbrel.utilities.asking import LONGEST, TooLong, ask, from_stdin, twice
from whimbrel.utilities.options import Exit, Program, Wrong, out, parse, say, start

PERMISSION, SYNTAX, DIFFERENT, TOO_LONG, BAD_USER, INVALID, BAD_HASH = 1, 2, 3, 5, 6, 7, 9
_LINE: Final = LONGEST - 1
_BCRYPT: Final = re.compile(r"\$2[aby]?\$")
_BCRYPT_WHOLE: Final = re.compile(r"\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}", re.ASCII)
_MODES: Final = "cnvD"


@dataclass(frozen=True, slots=True)
class Task:
    """What the command line asks for: *mode* is c (create), n (standard output), v (verify), D (delete) or "" (update)."""

    mode: str
    algorithm: str
    cost: int
    source: str  # where the password comes from: b, i or "" (the terminal)
    path: str
    user: str
    password: str


def main() -> None:
    """The console script."""
    start(run, "htpasswd")


def run(program: Program) -> int:
    """Do what the command line says; the exit status.  Raises Exit."""
    task = _task(program)
    if task.mode != "n":
        _check_file(program, task)
    if task.mode == "v":
        return _verify(program, task)
    record = "" if task.mode == "D" else _record(program, task)
    if task.mode == "n":
        out(record + "\n")
    elif task.mode == "c":
        say(f"Adding password for user {task.user}\n")
        _write(program, task.path, record)
    else:
        _update(program, task, record)
    return 0


def _task(program: Program) -> Task:
    options, operands = _options(program)
    modes = {letter for letter, _ in options if letter in _MODES}
    if len(modes) > 1:
        raise _conflict(program, modes)
    mode, sources = "".join(modes), {letter for letter, _ in options if letter in "bi"}
    cost = [0, *(_positive(program, value) for letter, value in options if letter in "Cr")][-1]
    algorithm = ["m", *(letter for letter, _ in options if letter in "msdpB25")][-1]
    supplied = "b" in sources
    if ("p", "") in options:
        from whimbrel.utilities.hashing import PLAIN_WARNING

        say(PLAIN_WARNING)
    if len(sources) > 1 or len(operands) != 2 + supplied - (mode == "n"):
        raise Exit(SYNTAX, _usage(program))
    path = "" if mode == "n" else operands.pop(0)
    password = operands[1] if supplied else ""
    _check_words(program, operands[0], password)
    return Task(mode, algorithm, cost, "".join(sources), path, operands[0], password)


def _options(program: Program) -> tuple[list[tuple[str, str]], list[str]]:
    try:
        return parse(program.words, "cnmspdbD" if program.old else "cnmspdBbDi25C:r:v")
    except Wrong as problem:
        said = "" if program.old else f"{program.name}: {problem.message}\n"
        raise Exit(SYNTAX, said + _usage(program)) from None


def _usage(program: Program) -> str:
    return usage.HTPASSWD_OLD if program.old else usage.HTPASSWD


def _conflict(program: Program, modes: set[str]) -> Exit:
    if program.old:
        first, second = [letter for letter in _MODES if letter in modes][:2]
        return Exit(SYNTAX, f"{program.path}: -{first} and -{second} options conflict\n")
    return Exit(SYNTAX, f"{program.path}: only one of -c -n -v -D may be specified\n")


def _positive(program: Program, value: str) -> int:
    if re.fullmatch(r"[ \t\n\v\f\r]*\+?[0-9]+", value) is None or int(value) == 0:
        raise Exit(SYNTAX, f"{program.path}: argument to -C/-r must be a positive integer\n")
    return int(value)


def _check_words(program: Program, user: str, password: str) -> None:
    if len(user) > _LINE:
        raise Exit(TOO_LONG, f"{program.path}: " + ("resultant record too long\n" if program.old else f"username too long (> {_LINE})\n"))
    if ":" in user:
        raise Exit(BAD_USER, f"{program.path}: username contains illegal character ':'\n")
    if len(password) >= LONGEST:
        raise Exit(TOO_LONG, f"{program.path}: password too long (> {LONGEST})\n")


def _check_file(program: Program, task: Task) -> None:
    name = raw(task.path)
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


def _record(program: Program, task: Task) -> str:
    from whimbrel.utilities.hashing import Unable, hashed

    password = task.password if task.source == "b" else _typed(program, task)
    try:
        made = hashed(password, task.algorithm, task.cost)
    except Unable as problem:
        raise Exit(DIFFERENT, f"{program.path}: {problem}\n") from None
    if made.warning:
        say(made.warning)
    record = f"{task.user}:{made.stored}"
    if len(record) >= _LINE:
        raise Exit(TOO_LONG, f"{program.path}: resultant record too long\n")
    return record + "\n"


def _typed(program: Program, task: Task) -> str:
    try:
        if task.source == "i":
            return from_stdin()
        password = ask("Enter password: ") if task.mode == "v" else twice()
    except TooLong:
        said = f"password too long (>{LONGEST})\n"
        raise Exit(TOO_LONG, said if task.mode == "v" else f"{program.path}: {said}") from None
    if password is None:
        raise Exit(DIFFERENT, f"{program.path}: password verification error\n")
    return password


def _verify(program: Program, task: Task) -> int:
    from whimbrel.modules.passwords import verify

    password = task.password if task.source == "b" else None
    found = False
    for _, user, stored in _lines(program, task.path):  # to the end: a broken line further down counts
        if user == task.user:
            found, password = True, _typed(program, task) if password is None else password
            _check_hash(user, stored)
            if not verify(password, stored):
                raise Exit(DIFFERENT, "password verification failed\n")
    if not found:
        raise Exit(BAD_USER, f"User {task.user} not found\n")
    say(f"Password for user {task.user} correct.\n")
    return 0


def _check_hash(user: str, stored: str) -> None:
    if not stored:
        raise Exit(INVALID, f"Empty hash for user {user}\n")
    if _BCRYPT.match(stored) and not _BCRYPT_WHOLE.fullmatch(stored):
        raise Exit(BAD_HASH, "Could not verify password: Invalid argument\n")


def _update(program: Program, task: Task, record: str) -> None:
    doing = "Deleting" if task.mode == "D" else "Updating"
    kept, found = [], 0
    for line, user, _ in _lines(program, task.path):
        if user == task.user:
            found += 1
            say(f"{doing} ")
            kept.append(record)
        else:
            kept.append(line)
    if found:
        say(f"password for user {task.user}\n")
    elif task.mode == "D":
        say(f"User {task.user} not found\n")
    else:
        say(f"Adding password for user {task.user}\n")
        kept.append(record)
    _write(program, task.path, "".join(kept))


def _lines(program: Program, path: str) -> Iterator[tuple[str, str | None, str]]:
    """Each line as it stands, its user (None for a comment or an empty line) and what follows the colon.  Raises Exit."""
    with open(raw(path), "rb") as file:
        while line := text(file.readline(_LINE)):
            content = line.lstrip(" \t\n\v\f\r").partition("\0")[0]
            if not content or content.startswith("#"):
                yield line, None, ""
                continue
            user, colon, stored = content.partition(":")
            if not colon:
                raise Exit(INVALID, f"{program.path}: The file {path} does not appear to be a valid htpasswd file.\n")
            yield line, user, stored.rstrip("\r\n")


def _write(program: Program, path: str, content: str) -> None:
    from whimbrel.utilities.replacing import replace

    try:
        replace(raw(path), raw(content))
    except OSError:
        raise Exit(PERMISSION, f"{program.path}: unable to update file {path}\n") from None
