"""Programs of administrators: MDMessageCmd, MDNotifyCmd, MDChallengeDns01."""

from __future__ import annotations

import subprocess
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import BLANKS
from whimbrel.base.programs import require_programs
from whimbrel.modules.md.mod_md.result import GENERAL, INCOMPLETE_PATH

LONGEST: Final = 300.0  # seconds that a program may take
FAILED: Final = 255


def words(line: str) -> list[str]:
    """Return the words of a command line; quotes keep blanks (apr_tokenize_to_argv)."""
    found = list[str]()
    at = 0
    while True:
        while at < len(line) and line[at] in BLANKS:
            at += 1
        if at >= len(line):
            return found
        quote = line[at] if line[at] in "\"'" else ""
        at += len(quote)
        word = ""
        while at < len(line) and (line[at] != quote if quote else line[at] not in BLANKS):
            if line[at] == "\\" and at + 1 < len(line) and (line[at + 1] in BLANKS or line[at + 1] in "\"'"):
                at += 1
            word += line[at]
            at += 1
        found.append(word)
        at += len(quote)


def status_of(code: int) -> int:
    """Return the status of an exit code (md_util_exec): programs that cannot run have one of their own."""
    if code == 0:
        return 0
    return GENERAL if 0 < code < 128 else INCOMPLETE_PATH


def run(line: str, *arguments: str) -> int:
    """Run a command with further arguments; return its exit code, 255 if it cannot run or takes too long."""
    argv = [*words(line), *arguments]
    if not argv:
        return FAILED
    try:
        require_programs()
        done = subprocess.run(
            list(map(to_bytes, argv)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=LONGEST,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return FAILED
    return done.returncode
