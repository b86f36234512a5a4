"""Password input: without echo from the terminal, or from standard input."""

from __future__ import annotations

import os
import sys

from whimbrel.base.latin1 import to_bytes, to_text

MAX_PASSWORD_BYTES = 256  # bytes of a password


class PasswordTooLong(Exception):
    """The password exceeds the maximum length."""


def prompt_password(prompt: str, max_bytes: int = MAX_PASSWORD_BYTES) -> str:
    """Return one line from the controlling terminal, else from standard input with the prompt on standard
    error.

    Raises PasswordTooLong.
    """
    try:
        tty = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        line = _prompt_stderr(prompt)
    else:
        try:
            line = _prompt_tty(tty, prompt)
        finally:
            os.close(tty)
    line = line.partition(b"\0")[0].removesuffix(b"\n")
    if len(line) > max_bytes:
        raise PasswordTooLong
    return to_text(line)


def _prompt_stderr(prompt: str) -> bytes:
    os.write(2, to_bytes(prompt))
    return sys.stdin.buffer.readline()


def _prompt_tty(tty: int, prompt: str) -> bytes:
    import termios

    before = termios.tcgetattr(tty)
    no_echo = termios.tcgetattr(tty)
    no_echo[3] &= ~(termios.ECHO | termios.ISIG)  # as in getpass(3): an interrupt is a character
    os.write(tty, to_bytes(prompt))
    termios.tcsetattr(tty, termios.TCSAFLUSH, no_echo)
    try:
        line = b""
        while not line.endswith(b"\n") and (part := os.read(tty, 1)):
            line += part
    finally:
        termios.tcsetattr(tty, termios.TCSAFLUSH, before)
    if line.endswith(b"\n"):
        os.write(tty, b"\n")
    return line


def read_stdin_password() -> str:
    """Return standard input, up to 255 bytes, without one line end; raises PasswordTooLong."""
    data = sys.stdin.buffer.read(MAX_PASSWORD_BYTES)
    if len(data) >= MAX_PASSWORD_BYTES:
        raise PasswordTooLong
    if data.endswith(b"\n"):
        data = data[:-1].removesuffix(b"\r")
    return to_text(data.partition(b"\0")[0])


def prompt_twice(max_bytes: int = MAX_PASSWORD_BYTES) -> str | None:
    """Return a password typed twice, or None if the two differ; raises PasswordTooLong."""
    first = prompt_password("New password: ", max_bytes)
    return first if prompt_password("Re-type new password: ", max_bytes) == first else None
