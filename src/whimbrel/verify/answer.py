"""Answer: what one configuration answers to a probe, with what led there."""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass

DECIDES: Final = "decides"
REFUSED: Final = "refused"
"""The role of a line that the result of a request rests on."""


@dataclass(frozen=True, slots=True)
class DecidingLine:
    """A line of the configuration that took part in an answer.

    Attributes:
        line: from 1; 0 for a whole file.
        text: the directive as written.
        role: access, decides (an access line that the result rests on), section, mapping, refused, directive.
        verdict: its result in an access decision (granted, denied ...), "" elsewhere.
    """

    path: str
    line: int
    text: str = ""
    role: str = "access"
    verdict: str = ""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to one probe, and the state of the request that led to it.

    Attributes:
        fields: header fields in the order of sending, names as sent.
        body: digest of the body, "" for none; *length* in bytes.
        is_built_in: the body is a page that the server itself words (errors, redirects): versions differ.
        handler: the handler, or the type that chose it; *file*: the path or ``proxy:`` URL; *user*: the
            authenticated user, "" for none.
        back_end: what the certificate and the connection of the back end must fulfil, "" without TLS.
        environment: the variables that programs would get from the configuration, sorted by name.
        server: the virtual host, as file and line; ("", 0) for the main server.
        log: the codes and texts of the error log.
        lines: the lines that decided; empty unless they were asked for.
        runs_program: a program for *file* was not run, and something stands in for its output.
        sends_file: the core's handler sent *file* as it is.
    """

    status: int
    fields: tuple[tuple[str, str], ...] = ()
    body: str = ""
    length: int = 0
    content_type: str = ""
    is_built_in: bool = False
    handler: str = ""
    file: str = ""
    user: str = ""
    back_end: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    server: tuple[str, int] = ("", 0)
    log: tuple[str, ...] = ()
    lines: tuple[DecidingLine, ...] = ()
    dialect: str = "2.4"
    runs_program: bool = False
    sends_file: bool = False

    def field(self, name: str) -> tuple[str, ...]:
        """Return the values of a header field; *name* in any case."""
        low = name.lower()
        return tuple(value for key, value in self.fields if key.lower() == low)
