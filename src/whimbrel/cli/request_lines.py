"""The program that prints the requests of `whimbrel serve`: it reads log lines from its standard input.

It runs beside the server as other log programs do, and ends with its input. Started for each server, so it
imports little.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import BinaryIO, Final, TextIO

from whimbrel.base.numbers import is_digits
from whimbrel.base.printable import printable

COLORS: Final = {"2": "32", "3": "36", "4": "33", "5": "31"}
"""Color of a status by its first digit."""
MAX_LINE: Final = 64 << 10
"""Bytes of a line that are read at once."""


def shown(line: str, *, is_colored: bool) -> str:
    """Return the text for one log line: method, URL, status, milliseconds; the line itself if it is another.

    The line has status, microseconds, host and request line, with tabs between.
    """
    parts = line.rstrip("\n").split("\t", 3)
    if len(parts) < 4 or not is_digits(parts[1]):
        return printable(line.rstrip("\n"))
    status, time, host, request = parts
    method, _, rest = request.partition(" ")
    target = rest.rpartition(" ")[0] or rest
    url = f"http://{host}{target}" if target.startswith("/") and host != "-" else target
    text = f"{printable(method)} {printable(url)}"
    if is_colored and status[:1] in COLORS:
        status = f"\033[{COLORS[status[0]]}m{status}\033[0m"
    return f"{text} {status} {int(time) / 1000:.1f} ms"


def colored(output: TextIO, environment: Mapping[str, str]) -> bool:
    """Return True if *output* is a terminal and NO_COLOR is unset."""
    return output.isatty() and not environment.get("NO_COLOR")


def copy(source: BinaryIO, output: TextIO, *, is_colored: bool) -> None:
    """Print each line of *source* until its end, or until nobody reads the output."""
    try:
        while line := source.readline(MAX_LINE):
            output.write(shown(line.decode("latin-1"), is_colored=is_colored) + "\n")
            output.flush()
    except BrokenPipeError:
        while source.read(MAX_LINE):  # the server must not wait for a program that has ended
            pass


def main() -> None:
    """Entry point. Ctrl-C ends the server, and this program afterwards."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    copy(sys.stdin.buffer, sys.stdout, is_colored=colored(sys.stdout, os.environ))


if __name__ == "__main__":
    main()
