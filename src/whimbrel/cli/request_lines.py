"""The program that prints the requests of `whimbrel serve`: it reads log lines from its standard input.

It runs beside the server as other log programs do, and ends with its input. Started for each server, so it
imports little.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection, Mapping
from typing import BinaryIO, Final, TextIO

from whimbrel.base.numbers import is_digits
from whimbrel.base.printable import printable
from whimbrel.cli.sent_status import sent_status

COLORS: Final = {"2": "32", "3": "36", "4": "33", "5": "31"}
"""Color of a status by its first digit."""
MAX_LINE: Final = 64 << 10
"""Bytes of a line that are read at once."""


def shown(line: str, *, is_colored: bool, secure: Collection[int] = ()) -> str:
    """Return the text for one log line: method, URL, status, milliseconds; the line itself if it is another.

    Ports of *secure* have TLS. The line has both statuses (`sent_status`) with the port, microseconds, host
    and request line, with tabs between.
    """
    parts = line.rstrip("\n").split("\t")[:4]
    if len(parts) < 4 or not is_digits(parts[1]):
        return printable(line.rstrip("\n"))
    statuses, time, host, request = parts
    status = sent_status(statuses)
    port = statuses.split(" ")[2] if statuses.count(" ") > 1 else host.rpartition(":")[2]
    method, _, rest = request.partition(" ")
    target = rest.rpartition(" ")[0] or rest
    scheme = "https" if is_digits(port) and int(port) in secure else "http"
    url = f"{scheme}://{host}{target}" if target.startswith("/") and host != "-" else target
    text = f"{printable(method)} {printable(url)}"
    if is_colored and status[:1] in COLORS:
        status = f"\033[{COLORS[status[0]]}m{status}\033[0m"
    return f"{text} {status} {int(time) / 1000:.1f} ms"


def colored(output: TextIO, environment: Mapping[str, str]) -> bool:
    """Return True if *output* is a terminal and NO_COLOR is unset."""
    return output.isatty() and not environment.get("NO_COLOR")


class RequestComparison:
    """The comparison of one server's answers with those of the other.

    Attributes:
        label: the server's version; *other* is that of the other.
        offset: what is added to a port for that of the other server.
        secure: ports with TLS, whose requests are not compared.
    """

    def __init__(self, label: str, other: str, offset: int, secure: frozenset[int]) -> None:
        self.label = label
        self.other = other
        self.offset = offset
        self.secure = secure

    def text(self, line: str, shown_line: str) -> str:
        """Return the text for one log line; "" for a request of the other server's comparison."""
        from whimbrel.cli import compared_requests

        request = compared_requests.logged(line)
        prefix = f"{self.label} {shown_line}"
        if request is None:
            return "" if compared_requests.is_marked(line) else prefix
        if request.port in self.secure:
            return prefix
        try:
            answer = compared_requests.other_answer(request, request.port + self.offset)
        except OSError as problem:
            return f"{prefix}\n    {self.other} gives no answer: {printable(str(problem))}"
        texts = compared_requests.difference(request.answer, answer)
        if texts is None:
            return prefix
        return (
            f"{prefix}\n    differs: {self.label}: {printable(texts[0])}, {self.other}: {printable(texts[1])}"
        )


def copy(
    source: BinaryIO,
    output: TextIO,
    *,
    is_colored: bool,
    secure: Collection[int] = (),
    comparison: RequestComparison | None = None,
) -> None:
    """Print each line of *source* until its end, or until nobody reads the output."""
    try:
        while line := source.readline(MAX_LINE):
            logged = line.decode("latin-1")
            text = shown(logged, is_colored=is_colored, secure=secure)
            if comparison is not None:
                text = comparison.text(logged, text)
            if text:
                output.write(f"{text}\n")
                output.flush()
    except BrokenPipeError:
        while source.read(MAX_LINE):  # the server must not wait for a program that has ended
            pass


def main() -> None:
    """Entry point. Ctrl-C ends the server, and this program afterwards.

    Arguments: the ports with TLS, with commas between; for a comparison, label, other label and offset.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    words = sys.argv[1:]
    ports = words[0].split(",") if words else []
    secure = frozenset(int(port) for port in ports if is_digits(port))
    comparison = None
    if len(words) > 3:
        comparison = RequestComparison(words[1], words[2], int(words[3]), secure)
    is_colored = colored(sys.stdout, os.environ)
    copy(sys.stdin.buffer, sys.stdout, is_colored=is_colored, secure=secure, comparison=comparison)


if __name__ == "__main__":
    main()
