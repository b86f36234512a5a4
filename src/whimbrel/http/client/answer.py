"""The common interface of the readers of answers: HTTP, FastCGI, SCGI, uwsgi and AJP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Final, NamedTuple

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.semantics.headers import Headers

END_OF_FILE: Final = "(70014)End of file found"
INTERNAL: Final = "(20014)Internal error (specific information not available)"
INVALID: Final = "(22)Invalid argument"
NO_SPACE: Final = "(28)No space left on device"
PARTIAL: Final = "(70008)Partial results are valid but processing is incomplete"
JOIN_THRESHOLD: Final = 1024  # bytes of a piece below which the next is added to it, as each has a cost
TIMEOUT: Final = "(70007)The timeout specified has expired"


class MessageScope(Enum):
    """What a line of the error log is about."""

    REQUEST = "client"
    CONNECTION = "remote"  # the connection to the back end: [remote 127.0.0.1:80]
    SERVER = ""


class BackendMessage(NamedTuple):
    """A line for the error log; *code* is "" in 2.2; *cause* is an errno with its text."""

    level: str
    code: str
    text: str
    cause: str = ""
    module: str = "proxy_http"
    scope: MessageScope = MessageScope.REQUEST


class BackendError(Exception):
    """An answer that httpd refuses; the connection is of no further use.

    Attributes:
        status: the status of the error page, if the response has not begun.
        reasons: lines for the error log, in httpd's words.
        detail: the reason on the error page, with which httpd calls ap_proxyerror (AH00898); "" where it
            does not.
    """

    def __init__(self, status: int, *reasons: BackendMessage, detail: str = "") -> None:
        super().__init__(detail or (reasons[-1].text if reasons else str(status)))
        self.status = status
        self.reasons = reasons
        self.detail = detail


@dataclass(slots=True)
class ResponseHead:
    """The head of an answer.

    Attributes:
        version: as sent; (0, 9) for a body without a head; (1, 1) for protocols without a version.
        reason: the reason phrase as sent, "" for an empty one; None if httpd uses its own.
        fields: in order, repeated names apart.
        script_lines: lines of a script head (FastCGI, SCGI) for `ScriptHead.line`, without line ends;
            *status* and *fields* then have no meaning.  The last one is empty, unless the head is incomplete
            (`ScriptHead.ended`).  None for a program without a head, whose response is a 200.
    """

    version: tuple[int, int]
    status: int
    reason: str | None
    fields: Headers
    script_lines: tuple[str, ...] | None = None


class AnswerReader(ABC):
    """A push parser of the answer to one request: `feed` bytes, split anywhere; `take` the decoded body.

    Attributes:
        head: set once it is complete.
        interim: heads with a status of 1xx so far (HTTP only); the caller removes them.
        done: True if the answer is complete.
        reusable: True if the connection may serve another request afterwards, and *rest* is empty; valid once
            `done` is.
        rest: bytes after the answer; after a 101 response, the first bytes of the other protocol.
        wanted: bytes of the request body that the back end requests (AJP), 0 if none; the caller resets it.
        errors: what a program wrote to its standard error (FastCGI); the caller removes them.
        messages: further lines for the error log; the caller removes them.
    """

    __slots__ = (
        "_buffered",
        "_pieces",
        "done",
        "errors",
        "head",
        "interim",
        "messages",
        "rest",
        "reusable",
        "wanted",
    )

    def __init__(self) -> None:
        self.head: ResponseHead | None = None
        self.interim: list[ResponseHead] = []
        self.done = False
        self.reusable = False
        self.rest = b""
        self.wanted = 0
        self.errors: list[str] = []
        self.messages: list[BackendMessage] = []
        self._pieces: list[bytes] = []
        self._buffered = 0

    @abstractmethod
    def feed(self, data: bytes) -> None:
        """Read *data*; raises BackendError, after which the reader is of no use."""

    @abstractmethod
    def eof(self, cause: str = "") -> None:
        """Complete an answer that the end of the connection delimits; raises BackendError for any other.

        *cause* is the errno of a connection that failed (`TIMEOUT`), "" if the back end closed it.
        """

    @property
    def buffered(self) -> int:
        """The number of body bytes that `take` would return."""
        return self._buffered

    def take(self) -> bytes:
        """Return the body bytes decoded so far and not yet taken."""
        pieces = self._pieces
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        self._pieces = []
        self._buffered = 0
        return data

    def _add(self, piece: bytes) -> None:
        if piece:
            pieces = self._pieces
            if pieces and len(piece) < JOIN_THRESHOLD and len(pieces[-1]) < JOIN_THRESHOLD:
                pieces[-1] += piece
            else:
                pieces.append(piece)
            self._buffered += len(piece)

    def _end(self, rest: bytes = b"") -> None:
        self.done = True
        self.rest = rest
        if rest:
            self.reusable = False
