"""Errors and start-up messages in httpd's format.

An error in a directive's arguments is two lines (``AH00526: Syntax error on line N of FILE:``, then the
reason).  An error while files are read is one line with the program's name and every file on the way,
outermost first.
"""

from __future__ import annotations

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, SourceLocation, StartError
from whimbrel.base.static_typing import Final
from whimbrel.config.model import StartMessage
from whimbrel.config.reader import COMMAND_LINE

MAX_LINE: Final = 8190  # MAX_STRING_LEN less the line's end and a NUL: httpd cuts its log lines
MAX_PLACES: Final = 3
"""The number of files on the way to an error that a short text names; of more, the first and the last."""
_ESCAPES = {"\b": "\\b", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '"'}


def escaped(text: str) -> str:
    """Return *text* with control characters, backslashes and bytes above 126 visible."""
    return text if text.isascii() and text.isprintable() and "\\" not in text else "".join(map(_shown, text))


def _shown(char: str) -> str:
    known = _ESCAPES.get(char)
    if known is not None:
        return known
    return char if " " <= char <= "~" else f"\\x{ord(char):02x}"


def format_error(
    error: ConfigError | StartError, dialect: Dialect, program: str = "", *, is_short: bool = False
) -> str:
    """Return the text that httpd prints for *error*, without a line end; *program* is the name it calls
    itself.

    *is_short*: for reports, name the first and the last of more than `MAX_PLACES` files on the way.
    """
    if isinstance(error, StartError):
        return "\n".join(map(_logged, error.lines))
    return "\n".join((_config_error(error, dialect, program, is_short), *map(escaped, error.details)))


def _logged(text: str) -> str:
    return escaped(text)[:MAX_LINE]


def _config_error(error: ConfigError, dialect: Dialect, program: str, is_short: bool) -> str:
    """Return httpd's message."""
    name = program or ("apache2" if dialect.messages_24 else "httpd")
    if error.bare or error.place is None:
        code = (
            f"{error.code}: "
            if error.place is None and dialect.messages_24 and error.code and error.code != "AH00526"
            else ""
        )
        return _logged(f"{code}{name}: {_chain(error.place, is_short)}{error.reason}")
    code = f"{error.code}: " if dialect.messages_24 and error.code else ""
    return (
        _logged(f"{code}Syntax error on line {error.place.line} of {error.place.path}:")
        + "\n"
        + _logged(error.reason)
    )


def _chain(place: SourceLocation | None, is_short: bool) -> str:
    places: list[str] = []
    while place is not None:
        location = (
            "in -C/-c directive" if place.path == COMMAND_LINE else f"on line {place.line} of {place.path}"
        )
        places.append(f"Syntax error {location}: ")
        place = place.included_from
    if is_short and len(places) > MAX_PLACES:
        return f"{places[-1]}(through {len(places) - 2} more lines) {places[0]}"
    return "".join(reversed(places))


def format_message(message: StartMessage, dialect: Dialect, *, time: str = "", process: str = "") -> str:
    """Return one start-up line as on standard error; *time* is the text between brackets, *process* ``pid
    N:tid N``.

    Messages of level ``startup`` have no prefix.
    """
    code = f"{message.code}: " if message.code and dialect.messages_24 else ""
    body = escaped((f"{message.cause}: " if message.cause else "") + code + message.text)
    if message.level == "startup":
        return body[:MAX_LINE]
    head = f"[{time}] " if time else ""
    if not dialect.messages_24:
        return f"{head}[{message.level}] {body}"[:MAX_LINE]
    pid = f"[{process}] " if process else ""
    return f"{head}[{message.module}:{message.level}] {pid}{body}"[:MAX_LINE]
