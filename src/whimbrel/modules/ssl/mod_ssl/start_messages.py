"""Messages of a start: lines of the error log, errors of the TLS library in OpenSSL's words."""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import PostConfigError
from whimbrel.config.model import Server

MODULE: Final = "ssl"
# errors of OpenSSL 3 by their text: the packed library and reason
_CODES: Final = {
    "DECODER routines::unsupported": 0x1E08010C,
    "PEM routines::no start line": 0x0480006C,
    "SSL routines::PEM lib": 0x0A080009,
    "SSL routines::no certificate assigned": 0x0A0000B1,
    "SSL routines::no cipher match": 0x0A0000B9,
    "asn1 encoding routines::wrong tag": 0x068000A8,
    "x509 certificate routines::key values mismatch": 0x05800074,
    "x509 certificate routines::no certificate or crl found": 0x05800088,
}
_HINT: Final = "Bad file contents or format - or even just a forgotten SSLCertificateKeyFile?"
NO_START_LINE: Final = "PEM routines::no start line"
PEM_LIB: Final = "SSL routines::PEM lib"
UNSUPPORTED: Final = "DECODER routines::unsupported"
NO_CERTIFICATE: Final = "SSL routines::no certificate assigned"
NO_CIPHER: Final = "SSL routines::no cipher match"
MISMATCH: Final = "x509 certificate routines::key values mismatch"
NOTHING_FOUND: Final = "x509 certificate routines::no certificate or crl found"


class Line(NamedTuple):
    """One line of the error log of *server* (None: the main one); *code* is the AH number, "" for none."""

    level: str
    code: str
    text: str
    server: Server | None = None


def about(server: Server, lines: list[Line], first: int) -> None:
    """Let the lines from *first* on be those of *server*'s error log."""
    lines[first:] = [line._replace(server=server) for line in lines[first:]]


class StartFailure(Exception):
    """A server cannot be configured: *lines* are the messages; *is_fatal*: httpd adds AH02312 to them."""

    def __init__(self, *lines: Line, is_fatal: bool = True) -> None:
        super().__init__(lines[0].text if lines else "")
        self.lines = lines
        self.is_fatal = is_fatal


def library_error(dialect: Dialect, error: str, level: str) -> Line:
    """Return the line about an error of the library (ssl_log_ssl_error)."""
    number = _CODES[error]
    text = f"error:{number:08X}:{error}"
    if error == NO_START_LINE:
        text += f" (Expecting: TRUSTED CERTIFICATE) -- {_HINT}" if dialect.messages_24 else f" {_HINT}"
    return Line(level, "", f"SSL Library Error: {text if dialect.messages_24 else f'{number} {text}'}")


def failure(dialect: Dialect, code: str, text: str, *errors: str, is_fatal: bool = True) -> StartFailure:
    """Return the failure with a message and errors of the library: of level emerg in 2.4, error in 2.2."""
    level = "emerg" if dialect.messages_24 else "error"
    return StartFailure(
        Line(level, code, text),
        *(library_error(dialect, error, level) for error in errors),
        is_fatal=is_fatal,
    )


def refusal(dialect: Dialect, before: list[Line], problem: StartFailure) -> PostConfigError:
    """Return the error that ends a start after the lines *before*."""
    lines = [*before, *problem.lines]
    if problem.is_fatal and dialect.messages_24:
        lines.append(Line("emerg", "AH02312", "Fatal error initialising mod_ssl, exiting."))
    coded = dialect.messages_24
    texts = [
        (line.level, f"{line.code}: {line.text}" if line.code and coded else line.text) for line in lines
    ]
    return PostConfigError(MODULE, *texts, exits=not coded)
