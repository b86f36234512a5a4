"""whimbrel htdbm: DBM files of users, as httpd's htdbm keeps them.

Manual: programs/htdbm.html.  A value is the hash, with a colon and the comment behind it where there is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whimbrel.octets import raw, text
from whimbrel.records import dataclass
from whimbrel.utilities import usage
from whimbrel.utilities.asking import LONGEST, TooLong, from_stdin, twice
from whimbrel.utilities.options import Exit, Program, Wrong, out, parse, say, start

if TYPE_CHECKING:
    from whimbrel.utilities.databases import Database

PERMISSION, SYNTAX, DIFFERENT, TOO_LONG, BAD_USER = 1, 2, 3, 5, 6
_LONGEST_USER: Final = 64
_OLD_PLAIN: Final = "Warning: Plain text passwords aren't supported by the server on this platform!\n"
_OLD_CRYPT: Final = "CRYPT is now deprecated, use MD5 instead!\n"


@dataclass(frozen=True, slots=True)
class Task:
    """What the command line asks for: *mode* is n (standard error), l (list), v (verify), x (delete) or "" (store)."""

    mode: str
    create: bool
    kind: str
    algorithm: str
    cost: int
    source: str  # where the password comes from: b, i or "" (the terminal)
    path: str
    user: str
    password: str
    comment: str | None


def main() -> None:
    """The console script."""
    start(run, "htdbm")


def run(program: Program) -> int:
    """Do what the command line says; the exit status.  Raises Exit."""
    task = _task(program)
    database = _open(task) if task.mode != "n" else None
    if database is not None and task.mode == "l":
        _list(task, database)
        return 0
    _check_user(task.user)
    if database is None:
        say(f"{task.user}:{_value(program, task)}\n")
    elif task.mode == "v":
        _verify(task, database, _password(task))
    elif task.mode == "x":
        _delete(task, database)
    else:
        _store(task, database, _value(program, task))
    return 0


def _task(program: Program) -> Task:
    options, operands = _options(program)
    values, letters = dict(options), "".join(letter for letter, _ in options)
    mode = ["", *(letter for letter in letters if letter in "nlvx")][-1]
    sources = {letter for letter in letters if letter in "bi"}
    algorithm = ["m", *(letter for letter in letters if letter in "msdpB")][-1]
    cost = _cost(values["C"]) if "C" in values else 0
    for letter in letters:
        say(_warning(program, letter))
    listing, commented, supplied = "l" in letters, "t" in letters, "b" in letters
    if len(operands) != 2 - ("n" in letters) - listing + supplied + commented:
        raise Exit(SYNTAX, usage.HTDBM_OLD if program.old else usage.HTDBM)
    path = operands.pop(0) if mode != "n" else ""
    user, *rest = [*operands, ""] if listing else operands
    comment = rest.pop() if commented and rest else None
    return Task(mode, "c" in letters, values.get("T", "default"), algorithm, cost, "b" if supplied else "".join(sources), path, user,
                rest[0] if supplied and rest else "", comment)


def _options(program: Program) -> tuple[list[tuple[str, str]], list[str]]:
    try:
        return parse(program.words, "cnmspdbtvlxT:" if program.old else "cnmspdBbtivlxT:C:")
    except Wrong as problem:
        said = usage.HTDBM_OLD if program.old else f"{program.name}: {problem.message}\n{usage.HTDBM}"
        raise Exit(SYNTAX, said) from None


def _warning(program: Program, letter: str) -> str:
    if program.old or letter != "p":
        return {"p": _OLD_PLAIN, "d": _OLD_CRYPT}.get(letter, "") if program.old else ""
    from whimbrel.utilities.hashing import PLAIN_WARNING

    return PLAIN_WARNING


def _cost(value: str) -> int:
    if re.fullmatch(r"[ \t\n\v\f\r]*\+?[0-9]+", value) is None or int(value) == 0:
        raise Exit(SYNTAX, "Error: argument to -C/-r must be a positive integer\n")
    return int(value)


def _open(task: Task) -> Database:
    from whimbrel.utilities.databases import Database, Failure

    try:
        return Database(task.path, task.kind, task.create, task.mode not in ("l", "v"))
    except Failure as problem:
        raise Exit(PERMISSION, f"{problem.noise}Error opening database {task.path}\n{problem.reason}\n") from None


def _check_user(user: str) -> None:
    if not 0 < len(user) <= _LONGEST_USER:
        raise Exit(BAD_USER, "Invalid username length\n")
    if ":" in user:
        raise Exit(BAD_USER, "Username contains invalid characters\n")


def _password(task: Task) -> str:
    if task.source == "b":
        return task.password
    try:
        password = from_stdin() if task.source == "i" else twice()
    except TooLong:
        raise Exit(TOO_LONG, f"Error: password too long (>{LONGEST})\n") from None
    if password is None:
        raise Exit(DIFFERENT, "Error: password verification error\n")
    return password


def _value(program: Program, task: Task) -> str:
    from whimbrel.utilities.hashing import Unable, hashed

    try:
        made = hashed(_password(task), task.algorithm, task.cost)
    except Unable as problem:
        raise Exit(DIFFERENT, f"Error: {problem}\n") from None
    if made.warning and not program.old:
        say(made.warning)
    return made.stored + (f":{task.comment}" if task.comment is not None else "")


def _list(task: Task, database: Database) -> None:
    if database.sdbm and not database.pairs:
        say(f"Empty database -- {task.path}\n")
        return
    lines = [f"Dumping records from database -- {task.path}\n", "    %-32s Comment\n" % "Username"]
    for key, value in database.pairs.items():
        _, colon, comment = text(value).partition(":")
        lines.append("    %-32s%s\n" % (text(key), f" {comment}" if colon else ""))
    say("".join(lines) + f"Total #records : {len(database.pairs)}\n")


def _verify(task: Task, database: Database, password: str) -> None:
    from whimbrel.modules.passwords import verify

    stored = database.pairs.get(raw(task.user))
    if stored is None:
        raise Exit(BAD_USER, f"The user '{task.user}' could not be found in database\n")
    if not verify(password, text(stored.partition(b":")[0])):
        raise Exit(DIFFERENT, f"Password mismatch for user '{task.user}'\n")
    say(f"Password validated for user '{task.user}'\n")


def _delete(task: Task, database: Database) -> None:
    if database.pairs.pop(raw(task.user), None) is None:
        raise Exit(BAD_USER, f"Cannot find user '{task.user}' in database\n")
    _save(task, database, "modified")


def _store(task: Task, database: Database, value: str) -> None:
    there = raw(task.user) in database.pairs
    from whimbrel.utilities.databases import Failure

    try:
        database.put(raw(task.user), raw(value))
    except Failure:
        raise Exit(PERMISSION) from None
    _save(task, database, "created" if task.create else "modified" if there else "updated")


def _save(task: Task, database: Database, done: str) -> None:
    from whimbrel.utilities.databases import Failure

    try:
        database.save()
    except Failure:
        raise Exit(PERMISSION) from None
    out(f"Database {task.path} {done}.\n")
