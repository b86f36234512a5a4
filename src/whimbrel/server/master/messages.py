"""Texts of messages that server processes print in httpd's form."""

from __future__ import annotations

import os

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import StartError
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final


def with_code(dialect: Dialect, code: str, text: str, why: str = "") -> str:
    """Format a line of start-up: cause, message number if the dialect has numbers, text."""
    head = f"{why}: " if why else ""
    return f"{head}{code}: {text}" if dialect.messages_24 else f"{head}{text}"


def logs_not_opened(dialect: Dialect, code: str, text: str, why: str = "") -> StartError:
    """Return the error that refuses a start for lack of logs or listening sockets."""
    return StartError(
        with_code(dialect, code, text, why), with_code(dialect, "AH00015", "Unable to open logs")
    )


def complain(text: str) -> None:
    """Write lines to standard error, the error log of a running server; ignore errors."""
    try:
        os.write(2, to_bytes(text) + b"\n")
    except OSError:
        pass


_FULL: Final = "scoreboard is full, not at MaxRequestWorkers"


@dataclass(frozen=True, slots=True)
class MpmMessages:
    """Life-cycle messages of one MPM's parent process: (number, text); *built* is a number only."""

    module: str
    running: tuple[str, str]
    built: str
    term: tuple[str, str]
    winch: tuple[str, str]
    usr1: tuple[str, str]
    hup: tuple[str, str]
    full: tuple[str, str] = ("", _FULL)


RUNNING: Final = "%s configured -- resuming normal operations"
TERM: Final = "caught SIGTERM, shutting down"
WINCH: Final = "caught SIGWINCH, shutting down gracefully"
HUP: Final = "SIGHUP received.  Attempting to restart"
_USR1: Final = "SIGUSR1 received.  Doing graceful restart"
_USR1_PREFORK: Final = "Graceful restart requested, doing restart"

EVENT: Final = MpmMessages(
    "mpm_event",
    ("AH00489", RUNNING),
    "AH00490",
    ("AH00491", TERM),
    ("AH00492", WINCH),
    ("AH00493", _USR1),
    ("AH00494", HUP),
    ("AH03490", f"{_FULL}.Increase ServerLimit."),
)
WORKER: Final = MpmMessages(
    "mpm_worker",
    ("AH00292", RUNNING),
    "AH00293",
    ("AH00295", TERM),
    ("AH00296", WINCH),
    ("AH00297", _USR1),
    ("AH00298", HUP),
    ("AH00288", _FULL),
)
PREFORK: Final = MpmMessages(
    "mpm_prefork",
    ("AH00163", RUNNING),
    "AH00164",
    ("AH00169", TERM),
    ("AH00170", WINCH),
    ("AH00171", _USR1_PREFORK),
    ("AH00173", HUP),
)
