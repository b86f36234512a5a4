"""Errors and start-up messages in httpd's format.

An error in a directive's arguments is two lines (``AH00526: Syntax error on line N of FILE:``, then the
reason).  An error while files are read is one line with the program's name and every file on the way,
outermost first.
"""

from __future__ import annotations

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import ConfigError, SourceLocation, StartError
from whimbrel.config.model import StartMessage
from whimbrel.config.reader import COMMAND_LINE

_ESCAPES = {"\b": "\\b", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '"'}


def escaped(text: str) -> str:
    """Return *text* with control characters, backslashes and bytes above 126 made visible
    (ap_escape_errorlog_item).
    """
    return text if text.isascii() and text.isprintable() and "\\" not in text else "".join(map(_shown, text))


def _shown(char: str) -> str:
    known = _ESCAPES.get(char)
    if known is not None:
        return known
    return char if " " <= char <= "~" else f"\\x{ord(char):02x}"


def format_error(error: ConfigError | StartError, dialect: Dialect, program: str = "") -> str:
    """Return the text that httpd prints for *error*, without a line end; *program* is the name it calls
    itself.
    """
    if isinstance(error, StartError):
        return "\n".join(escaped(line) for line in error.lines)
    return "\n".join((_config_error(error, dialect, program), *map(escaped, error.details)))


def _config_error(error: ConfigError, dialect: Dialect, program: str) -> str:
    """Return httpd's message."""
    name = program or ("apache2" if dialect.messages_24 else "httpd")
    if error.bare or error.place is None:
        code = (
            f"{error.code}: "
            if error.place is None and dialect.messages_24 and error.code and error.code != "AH00526"
            else ""
        )
        return escaped(f"{code}{name}: {_chain(error.place)}{error.reason}")
    code = f"{error.code}: " if dialect.messages_24 and error.code else ""
    return (
        escaped(f"{code}Syntax error on line {error.place.line} of {error.place.path}:")
        + "\n"
        + escaped(error.reason).rstrip(" ")
    )


def _chain(place: SourceLocation | None) -> str:
    text = ""
    while place is not None:
        location = (
            "in -C/-c directive" if place.path == COMMAND_LINE else f"on line {place.line} of {place.path}"
        )
        text = f"Syntax error {location}: {text}"
        place = place.included_from
    return text


def format_message(message: StartMessage, dialect: Dialect, *, time: str = "", process: str = "") -> str:
    """Return one start-up line as on standard error; *time* is the text between brackets, *process* ``pid
    N:tid N``.

    Messages of level ``startup`` have no prefix.
    """
    code = f"{message.code}: " if message.code and dialect.messages_24 else ""
    body = escaped((f"{message.cause}: " if message.cause else "") + code + message.text)
    if message.level == "startup":
        return body
    head = f"[{time}] " if time else ""
    if not dialect.messages_24:
        return f"{head}[{message.level}] {body}"
    return f"{head}[{message.module}:{message.level}] " + (f"[{process}] " if process else "") + body
