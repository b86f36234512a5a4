"""Asking for a password: without echo on the terminal, or from standard input."""

from __future__ import annotations

import os
import sys

from whimbrel.octets import raw, text

LONGEST = 256  # bytes of a password


class TooLong(Exception):
    """The password has more bytes than it may have."""


def ask(prompt: str, longest: int = LONGEST) -> str:
    """One line, asked for on the controlling terminal, else on standard error and read from standard input.  Raises TooLong."""
    try:
        tty = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        line = _plain(prompt)
    else:
        try:
            line = _hidden(tty, prompt)
        finally:
            os.close(tty)
    line = line.partition(b"\0")[0].removesuffix(b"\n")
    if len(line) > longest:
        raise TooLong
    return text(line)


def _plain(prompt: str) -> bytes:
    os.write(2, raw(prompt))
    return sys.stdin.buffer.readline()


def _hidden(tty: int, prompt: str) -> bytes:
    import termios

    before = termios.tcgetattr(tty)
    silent = termios.tcgetattr(tty)
    silent[3] &= ~(termios.ECHO | termios.ISIG)  # as getpass(3): an interrupt is a character
    os.write(tty, raw(prompt))
    termios.tcsetattr(tty, termios.TCSAFLUSH, silent)
    try:
        line = b""
        while not line.endswith(b"\n") and (part := os.read(tty, 1)):
            line += part
    finally:
        termios.tcsetattr(tty, termios.TCSAFLUSH, before)
    if line.endswith(b"\n"):
        os.write(tty, b"\n")
    return line


def from_stdin() -> str:
    """All of standard input, up to 255 bytes, without one line end; raises TooLong."""
    data = sys.stdin.buffer.read(LONGEST)
    if len(data) >= LONGEST:
        raise TooLong
    if data.endswith(b"\n"):
        data = data[:-1].removesuffix(b"\r")
    return text(data.partition(b"\0")[0])


def twice(longest: int = LONGEST) -> str | None:
    """A password typed twice, or None where the two differ; raises TooLong."""
    first = ask("New password: ", longest)
    return first if ask("Re-type new password: ", longest) == first else None
