"""whimbrel htcacheclean: clean, list and delete entries of a disk cache.

Manual: programs/htcacheclean.html.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Final

from whimbrel.base.file_writing import write_over
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import strtol
from whimbrel.utilities import usage
from whimbrel.utilities.cache_clean import CacheCleaner, delete_url, describe, header_files
from whimbrel.utilities.options import Exit, UtilityProgram, parse, start, write_stderr, write_stdout
from whimbrel.utilities.usage_error import UsageError

OPTIONS: Final = "iDnvrtd:l:L:p:P:R:aA"
_UNITS: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "b": 1, "": 1}
_MINUTE: Final = 60


def main() -> None:
    """Entry point of whimbrel-htcacheclean."""
    start(run, "htcacheclean")


@dataclass(slots=True)
class CleanOptions:
    """The options by letter, limits in bytes and inodes, and the URLs."""

    chosen: dict[str, str]
    urls: list[str]
    max_bytes: int = 0
    max_nodes: int = 0
    unit: int = 0
    minutes: int = 0


def _fail(program: UtilityProgram, text: str) -> Exit:
    return Exit(1, f"htcacheclean error: {text}\n{usage.HTCACHECLEAN}")


def _number(program: UtilityProgram, text: str, what: str) -> int:
    value, unit = strtol(text)
    if not text or unit == text or unit.lower() not in _UNITS:
        raise _fail(program, f"Invalid {what}: {text}\n\n")
    return value * _UNITS[unit.lower()]


def _options(program: UtilityProgram) -> CleanOptions:
    chosen: dict[str, str] = {}

    def check(letter: str, value: str) -> None:
        lists = {"a", "A"}
        if letter in chosen or (letter in lists and lists & set(chosen)):
            raise _fail(program, f"The option '{letter}' cannot be specified more than once")
        chosen[letter] = value

    try:
        options, urls = parse(program.words, OPTIONS, check)
    except UsageError as problem:
        raise Exit(1, f"{program.name}: {problem.message}\n{usage.HTCACHECLEAN}") from None
    if not program.words:
        raise Exit(1, usage.HTCACHECLEAN)
    out = CleanOptions(dict(options), urls)
    for letter, what, name in (
        ("l", "limit", "max_bytes"),
        ("L", "limit", "max_nodes"),
        ("R", "round value", "unit"),
    ):
        if letter in chosen:
            setattr(out, name, _number(program, chosen[letter], what))
    _check(program, out)
    return out


def _check(program: UtilityProgram, out: CleanOptions) -> None:
    """Refuse combinations of options with httpd's messages."""
    chosen = out.chosen
    if "p" in chosen:
        try:
            os.stat(chosen["p"])
        except OSError as problem:
            text = f"Could not set filepath to '{chosen['p']}': {os.strerror(problem.errno or 0)}"
            raise _fail(program, text) from None
    if "d" in chosen:
        out.minutes = strtol(chosen["d"])[0]
        if out.minutes <= 0:
            raise _fail(program, "Option -d must be greater than zero")
        if {"v", "r", "D"} & set(chosen) or out.max_nodes:
            raise _fail(program, "Option -d cannot be used with -v, -r, -L or -D")
    elif "i" in chosen:
        raise _fail(program, "Option -i cannot be used without -d")
    if "p" not in chosen:
        raise _fail(program, "Option -p must be specified")
    lists = {"a", "A"} & set(chosen)
    if not (lists or out.urls) and out.max_bytes <= 0 and out.max_nodes <= 0:
        raise _fail(program, "At least one of option -l or -L must be greater than zero")


def run(program: UtilityProgram) -> int:
    """List, delete or clean; return the exit status. Raises Exit."""
    chosen = _options(program)
    root = os.path.abspath(chosen.chosen["p"])
    if "a" in chosen.chosen or "A" in chosen.chosen:
        return _list(root, chosen)
    if chosen.urls:
        cleaner = _cleaner(root, chosen)
        found = [delete_url(cleaner, url) for url in chosen.urls]
        return 0 if all(found) else 2
    if "P" in chosen.chosen:
        chosen.chosen["P"] = os.path.abspath(chosen.chosen["P"])
    if chosen.minutes:
        return _repeat(program, root, chosen)
    if "P" in chosen.chosen:
        _write_pid(program, chosen.chosen["P"])
    return _clean(root, chosen)


def _cleaner(root: str, chosen: CleanOptions) -> CacheCleaner:
    letters = chosen.chosen
    return CacheCleaner(
        root,
        is_dry="D" in letters,
        is_thorough="r" in letters,
        is_nice="n" in letters,
        removes_directories="t" in letters or "r" in letters,
        unit=chosen.unit,
    )


def _list(root: str, chosen: CleanOptions) -> int:
    for path in header_files(root):
        known = describe(path, chosen.unit)
        if known is not None:
            url, attributes = known
            more = "".join([f" {value}" for value in attributes]) if "A" in chosen.chosen else ""
            write_stdout(f"{url}{more}\n")
    return 0


def _write_pid(program: UtilityProgram, path: str) -> None:
    try:
        write_over(os.fsencode(path), b"%d\n" % os.getpid(), 0o644)
    except OSError as problem:
        text = f"Could not write the PID file {path}: {os.strerror(problem.errno or 0)}"
        raise _fail(program, text) from None


def _clean(root: str, chosen: CleanOptions) -> int:
    cleaner = _cleaner(root, chosen)
    try:
        cleaner.scan()
    except OSError:
        write_stderr("An error occurred, cache cleaning aborted.\n")
        return 1
    before = len(cleaner.entries)
    total, left, after = cleaner.purge(chosen.max_bytes, chosen.max_nodes)
    if "v" in chosen.chosen:
        write_stderr("Statistics:\n")
        if cleaner.unsolicited:
            write_stderr(f"unsolicited size {_size(cleaner.unsolicited)}\n")
        write_stderr(f"size limit {_size(chosen.max_bytes)}\n")
        write_stderr(f"total size was {_size(total)}, total size now {_size(left)}\n")
        write_stderr(f"total entries was {before}, total entries now {after}\n")
    return 0


def _size(count: int) -> str:
    """Return bytes as K or M with one digit behind the point, cut off."""
    tenths = count * 10 // 1024
    letter = "K"
    if tenths >= 10 * 1024:
        tenths, letter = tenths // 1024, "M"
    return f"{tenths // 10}.{tenths % 10}{letter}"


def _detach() -> None:
    """Go on in the background, away from the terminal and its files (apr_proc_detach)."""
    os.chdir("/")
    if os.fork():
        os._exit(0)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for handle in range(3):
        os.dup2(null, handle)
    if null > 2:
        os.close(null)


def _repeat(program: UtilityProgram, root: str, chosen: CleanOptions) -> int:
    """Clean every -d minutes in the background until a signal; with -i only after changes."""
    _detach()
    if "P" in chosen.chosen:
        _write_pid(program, chosen.chosen["P"])
    is_stopped = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: is_stopped.append(True))
    known = -1
    while not is_stopped:
        changed = os.stat(root).st_mtime_ns
        if "i" not in chosen.chosen or changed != known:
            _clean(root, chosen)
            known = os.stat(root).st_mtime_ns
        end = time.monotonic() + chosen.minutes * _MINUTE
        while not is_stopped and time.monotonic() < end:
            time.sleep(1)
    return 0
