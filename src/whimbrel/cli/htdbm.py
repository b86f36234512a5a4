"""whimbrel htdbm: DBM files of users, in the format of httpd's htdbm.

Manual: programs/htdbm.html. A value is the hash, and behind a colon the comment, if there is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start, write_stderr, write_stdout
from whimbrel.utilities.password_prompt import (
    MAX_PASSWORD_BYTES,
    PasswordTooLong,
    prompt_twice,
    read_stdin_password,
)
from whimbrel.utilities.usage_error import UsageError

if TYPE_CHECKING:
    from whimbrel.utilities.dbm_edit import DbmDatabase

PERMISSION = 1
SYNTAX = 2
DIFFERENT = 3
TOO_LONG = 5
BAD_USER = 6
_MAX_USER_BYTES: Final = 64
_PLAIN_WARNING_22: Final = "Warning: Plain text passwords aren't supported by the server on this platform!\n"
_CRYPT_WARNING_22: Final = "CRYPT is now deprecated, use MD5 instead!\n"


@dataclass(frozen=True, slots=True)
class HtdbmTask:
    """Task of a command line:

    *mode* is n (standard error), l (list), v (verify), x (delete) or "" (store). -l and -x before the mode
    leave something out: the check of the user (-l), the prompt for the password (both).
    """

    mode: str
    is_user_checked: bool
    prompts: bool
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
    """Entry point of whimbrel-htdbm."""
    start(run, "htdbm")


def run(program: UtilityProgram) -> int:
    """Run one command line; return the exit status. Raises Exit."""
    task = _task(program)
    database = _open(task) if task.mode != "n" else None
    if database is not None and task.mode == "l":
        _list(task, database)
        return 0
    if task.is_user_checked:
        _check_user(task.user)
    if database is None:
        write_stderr(f"{task.user}:{_value(program, task)}\n")
    elif task.mode == "v":
        _verify(task, database, _password(task))
    elif task.mode == "x":
        _delete(task, database)
    else:
        _store(task, database, _value(program, task))
    return 0


def _task(program: UtilityProgram) -> HtdbmTask:
    options, operands = _options(program)
    values = dict(options)
    letters = "".join(letter for letter, _ in options)
    mode = ["", *(letter for letter in letters if letter in "nlvx")][-1]
    source = ["", *(letter for letter in letters if letter in "bi")][-1]
    algorithm = ["m", *(letter for letter in letters if letter in "msdpB")][-1]
    cost = _cost(values["C"]) if "C" in values else 0
    commented = "t" in letters
    supplied = letters.count("b") if program.is_22 else int(source == "b")
    present = len(operands) - letters.count("t") - supplied
    wanted = (mode != "n") + (mode != "l")  # httpd's program crashes where its count lacks one of these
    if present != 2 - letters.count("n") - letters.count("l") or len(operands) < wanted:
        raise Exit(SYNTAX, usage.HTDBM_22 if program.is_22 else usage.HTDBM)
    path = operands.pop(0) if mode != "n" else ""
    user, *rest = operands or [""]
    comment = rest.pop() if commented and rest else None
    return HtdbmTask(
        mode,
        "l" not in letters,
        not {"l", "x"} & set(letters),
        "c" in letters,
        values.get("T", "default"),
        algorithm,
        cost,
        source,
        path,
        user,
        rest[0] if source == "b" and rest else "",
        comment,
    )


def _options(program: UtilityProgram) -> tuple[list[tuple[str, str]], list[str]]:
    def check(letter: str, value: str) -> None:
        if letter == "C":
            _cost(value)
        write_stderr(_warning(program, letter))

    try:
        return parse(program.words, "cnmspdbtvlxT:" if program.is_22 else "cnmspdBbtivlxT:C:", check)
    except UsageError as problem:
        message = usage.HTDBM_22 if program.is_22 else f"{program.name}: {problem.message}\n{usage.HTDBM}"
        raise Exit(SYNTAX, message) from None


def _warning(program: UtilityProgram, letter: str) -> str:
    if program.is_22 or letter != "p":
        return {"p": _PLAIN_WARNING_22, "d": _CRYPT_WARNING_22}.get(letter, "") if program.is_22 else ""
    from whimbrel.modules.support.auth.hashing import PLAIN_WARNING

    return PLAIN_WARNING


def _cost(value: str) -> int:
    if re.fullmatch(r"[ \t\n\v\f\r]*\+?[0-9]+", value) is None or int(value) == 0:
        raise Exit(SYNTAX, "Error: argument to -C/-r must be a positive integer\n")
    return int(value)


def _open(task: HtdbmTask) -> DbmDatabase:
    from whimbrel.utilities.dbm_edit import DbmDatabase, DbmError

    try:
        return DbmDatabase(task.path, task.kind, task.create, task.mode not in ("l", "v"))
    except DbmError as problem:
        raise Exit(
            PERMISSION, f"{problem.library_message}Error opening database {task.path}\n{problem.reason}\n"
        ) from None


def _check_user(user: str) -> None:
    if not 0 < len(user) <= _MAX_USER_BYTES:
        raise Exit(BAD_USER, "Invalid username length\n")
    if ":" in user:
        raise Exit(BAD_USER, "Username contains invalid characters\n")


def _password(task: HtdbmTask) -> str:
    if task.source == "b" or not task.prompts:
        return task.password
    try:
        password = read_stdin_password() if task.source == "i" else prompt_twice()
    except PasswordTooLong:
        raise Exit(TOO_LONG, f"Error: password too long (>{MAX_PASSWORD_BYTES})\n") from None
    if password is None:
        raise Exit(DIFFERENT, "Error: password verification error\n")
    return password


def _value(program: UtilityProgram, task: HtdbmTask) -> str:
    from whimbrel.modules.support.auth.hashing import HashError, cost_warning, hash_password

    password = _password(task)
    write_stderr(cost_warning(task.algorithm, task.cost))
    try:
        result = hash_password(password, task.algorithm, task.cost)
    except HashError as problem:
        raise Exit(DIFFERENT, f"Error: {problem}\n") from None
    if result.warning and not program.is_22:
        write_stderr(result.warning)
    return result.stored + (f":{task.comment}" if task.comment is not None else "")


def _list(task: HtdbmTask, database: DbmDatabase) -> None:
    if database.is_sdbm and not database.pairs:
        write_stderr(f"Empty database -- {task.path}\n")
        return
    lines = [f"Dumping records from database -- {task.path}\n", "    %-32s Comment\n" % "Username"]
    for key, value in database.pairs.items():
        _, colon, comment = to_text(value).partition(":")
        lines.append("    %-32s%s\n" % (to_text(key), f" {comment}" if colon else ""))
    write_stderr("".join(lines) + f"Total #records : {len(database.pairs)}\n")


def _verify(task: HtdbmTask, database: DbmDatabase, password: str) -> None:
    from whimbrel.modules.support.auth.passwords import verify

    stored = database.pairs.get(to_bytes(task.user))
    if stored is None:
        raise Exit(BAD_USER, f"The user '{task.user}' could not be found in database\n")
    if not verify(password, to_text(stored.partition(b":")[0])):
        raise Exit(DIFFERENT, f"Password mismatch for user '{task.user}'\n")
    write_stderr(f"Password validated for user '{task.user}'\n")


def _delete(task: HtdbmTask, database: DbmDatabase) -> None:
    if database.pairs.pop(to_bytes(task.user), None) is None:
        raise Exit(BAD_USER, f"Cannot find user '{task.user}' in database\n")
    _save(task, database, "modified")


def _store(task: HtdbmTask, database: DbmDatabase, value: str) -> None:
    exists = to_bytes(task.user) in database.pairs
    from whimbrel.utilities.dbm_edit import DbmError

    try:
        database.put(to_bytes(task.user), to_bytes(value))
    except DbmError:
        raise Exit(PERMISSION) from None
    done = "modified" if exists else "updated"
    _save(task, database, "created" if task.create else done)


def _save(task: HtdbmTask, database: DbmDatabase, done: str) -> None:
    from whimbrel.utilities.dbm_edit import DbmError

    try:
        database.save()
    except DbmError:
        raise Exit(PERMISSION) from None
    write_stdout(f"Database {task.path} {done}.\n")
