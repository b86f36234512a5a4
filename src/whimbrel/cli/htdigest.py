"""whimbrel htdigest: user files for digest authentication, in the format of httpd's htdigest.

Manual: programs/htdigest.html. A line is user:realm:hash. The first line with the same user and realm is
replaced, all others remain. A last line without line end is not read, as in httpd's htdigest. User and realm
are cut to 255 bytes. `-c` overwrites the start of an existing file and does not truncate it, as in httpd.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final

from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.utilities import usage
from whimbrel.utilities.options import Exit, UtilityProgram, start, write_stderr
from whimbrel.utilities.password_prompt import PasswordTooLong, prompt_twice

_MAX_NAME_BYTES: Final = 255
_MAX_LINE_BYTES: Final = 766  # bytes of a line that are read at a time


def main() -> None:
    """Entry point of whimbrel-htdigest."""
    start(run, "htdigest")


def run(program: UtilityProgram) -> int:
    """Run one command line; return the exit status. Raises Exit."""
    words = program.words
    create = len(words) == 4 and words[0] == "-c"
    if not create and len(words) != 3:
        raise Exit(1, usage.HTDIGEST)
    path = words[-3]
    realm = words[-2][:_MAX_NAME_BYTES]
    user = words[-1][:_MAX_NAME_BYTES]
    content = _created(path, realm, user) if create else _updated(path, realm, user)
    from whimbrel.base.file_writing import write_named

    try:
        write_named(to_bytes(path), to_bytes(content))
    except OSError:
        write_stderr(f"{program.path}: unable to update file {path}\n")
    return 0


def _created(path: str, realm: str, user: str) -> str:
    try:
        os.close(os.open(to_bytes(path), os.O_WRONLY | os.O_CREAT, 0o666))
    except OSError as problem:
        raise Exit(
            1, f"Could not open passwd file {path} for writing: {os.strerror(problem.errno or 0)}\n"
        ) from None
    write_stderr(f"Adding password for {user} in realm {realm}.\n")
    record = _record(realm, user)
    return record + _content(path)[len(record) :]


def _updated(path: str, realm: str, user: str) -> str:
    lines = _lines(path)
    for at, line in enumerate(lines):
        if _names(line) == (user, realm):
            write_stderr(f"Changing password for user {user} in realm {realm}\n")
            lines[at] = _record(realm, user)
            break
    else:
        write_stderr(f"Adding user {user} in realm {realm}\n")
        lines.append(_record(realm, user))
    return "".join(lines)


def _lines(path: str) -> list[str]:
    """Return the complete lines of the file. Raises Exit."""
    lines = []
    for line in _content(path).split("\n")[:-1]:
        line += "\n"
        lines += [line[at : at + _MAX_LINE_BYTES] for at in range(0, len(line), _MAX_LINE_BYTES)]
    return lines


def _content(path: str) -> str:
    """Return the bytes of the file; nothing of a directory. Raises Exit."""
    try:
        return to_text(read_regular(to_bytes(path)))
    except IsADirectoryError:
        return ""
    except OSError:
        raise Exit(
            1, f"Could not open passwd file {path} for reading.\nUse -c option to create new one.\n"
        ) from None


def _names(line: str) -> tuple[str, str]:
    """Return user and realm of a line, empty for comments and empty lines. Raises Exit."""
    if line.startswith(("#", "\n")):
        return "", ""
    user, _, rest = line.partition(":")
    realm = rest.partition(":")[0]
    if max(len(user), len(realm)) > _MAX_NAME_BYTES:
        raise Exit(
            1,
            "The following line contains a string longer than the allowed maximum size "
            f"({_MAX_NAME_BYTES}): {line}\n",
        )
    return user, realm


def _record(realm: str, user: str) -> str:
    try:
        password = prompt_twice(_MAX_NAME_BYTES)
    except PasswordTooLong:
        raise Exit(5, "password too long") from None
    if password is None:
        raise Exit(1, "They don't match, sorry.\n")
    digest = hashlib.md5(to_bytes(f"{user}:{realm}:{password}"), usedforsecurity=False)
    return f"{user}:{realm}:{digest.hexdigest()}\n"
