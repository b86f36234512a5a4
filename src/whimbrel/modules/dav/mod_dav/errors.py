"""Failures of WebDAV methods, and the responses that report them (RFC 4918, 11 and 13).

A `DavError` is raised where an operation fails and gets a further description at each level that knows more;
`report` logs all of them and responds.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from whimbrel.engine.request import Request
from whimbrel.http.semantics.status import reason, status_line
from whimbrel.modules.dav.mod_dav.multistatus import ResourceStatus, multistatus
from whimbrel.registry.phases import DONE, HookStatus

XML_TYPE: Final = 'text/xml; charset="utf-8"'
_PAGE_TYPE: Final = "text/html; charset=ISO-8859-1"


class ErrorId(IntEnum):
    """httpd's numbers of failures, which its log lines show."""

    NONE = 0
    NO_TOKEN_GIVEN = 1
    IF_PARSE = 100
    IF_MULTIPLE_NOT = 101
    IF_UNKNOWN_CHAR = 102
    IF_ABSENT = 103
    IF_TAGGED = 104
    IF_UNCLOSED = 105
    PROP_BAD_MAJOR = 200
    PROP_READONLY = 201
    PROP_OPENING = 205
    PROP_EXEC = 206
    LOCK_OPENING = 400
    LOCK_NO_DATABASE = 401
    LOCK_UNKNOWN_TOKEN = 403
    LOCK_BAD_TOKEN = 404
    LOCK_SAVING = 405


class DavError(Exception):
    """A failure with the failure that caused it (httpd's dav_error).

    Attributes:
        description: text for the log, "" for none; `error_id`: its number there.
        errno: the system's error number, 0 for none.
        cause: the failure that this one describes further.
        responses: statuses of other resources, the body of a multistatus response.
    """

    def __init__(
        self,
        status: int,
        description: str = "",
        error_id: int = 0,
        *,
        errno: int = 0,
        cause: DavError | None = None,
        responses: Sequence[ResourceStatus] = (),
    ) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.error_id = error_id
        self.errno = errno
        self.cause = cause
        self.responses = responses

    def within(self, description: str, *, status: int = 0, error_id: int = 0) -> DavError:
        """Return the failure of a larger operation that this one caused."""
        return DavError(status or self.status, description, error_id, cause=self, responses=self.responses)


class TooManyNamespaces(DavError):
    """A property database has no room for the namespaces of a request."""


class Refusal(Exception):
    """A response by its status alone; the reason is logged."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def log_error(r: Request, error: DavError | None, level: str = "error") -> None:
    """Log *error* and its causes, as httpd words them."""
    while error is not None:
        if error.description:
            cause = f"({error.errno}){os.strerror(error.errno)}" if error.errno else ""
            text = f"{error.description}  [{error.status:d}, #{error.error_id:d}]"
            r.log(level, text, module="dav", cause=cause)
        error = error.cause


def report(r: Request, error: DavError) -> HookStatus:
    """Log *error* and return the status of its response, or DONE after a multistatus response."""
    log_error(r, error)
    if not error.responses:
        r.notes["verbose-error-to"] = "*"
        return error.status
    r.status = error.status
    r.content_type = XML_TYPE
    r.write(multistatus(error.responses, version22=r.plan.dialect.wire_22))
    return DONE


def page(r: Request, status: int, text: str) -> HookStatus:
    """Respond with *status* and a page with *text*, which is HTML."""
    dialect = r.plan.dialect
    line = status_line(status, version22=dialect.wire_22)
    phrase = reason(status, version22=dialect.wire_22)
    tail = r.engine.signature(r, "<hr />\n")
    between = "" if dialect.wire_22 else "\n"
    r.status = status
    r.content_type = _PAGE_TYPE
    r.write(
        f"{dialect.error_page_doctype}\n<html>{between}<head>\n<title>{line}</title>\n</head><body>\n"
        f"<h1>{phrase}</h1>\n<p>{text}</p>\n{tail}</body></html>\n"
    )
    return DONE
