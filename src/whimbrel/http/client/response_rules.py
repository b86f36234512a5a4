"""The leniency of httpd 2.2 and 2.4 with the responses of origin servers, as settings."""

from __future__ import annotations

from enum import Enum
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions


class BadHeaderPolicy(Enum):
    """ProxyBadHeader: what a line without a colon does."""

    ERROR = "IsError"
    IGNORE = "Ignore"
    START_BODY = "StartBody"


@dataclass(frozen=True, slots=True)
class ResponseRules:
    """The leniency of one httpd with responses.

    Attributes:
        field_size: ResponseFieldSize: no line is longer than this, less 1.
        bad_header: ProxyBadHeader.
        chunk_limits, chunk_options: limits and strictness of chunk sizes and trailers.
        cuts_long_fields: a field that is too long loses its end; else it is an error.
        accepts_partial_head: the end of the connection ends a head; else it is an error.
        switches_protocols: 101 is a final response; else an interim one.
        strict_length: Content-Length has digits only; else it is a number of C.
        version22: the messages of 2.2.
    """

    field_size: int = 8192
    bad_header: BadHeaderPolicy = BadHeaderPolicy.ERROR
    chunk_limits: HeadLimits = HeadLimits()
    chunk_options: ParserOptions = ParserOptions()
    cuts_long_fields: bool = False
    accepts_partial_head: bool = False
    switches_protocols: bool = True
    strict_length: bool = True
    version22: bool = False


RULES_24: Final = ResponseRules()
RULES_22: Final = ResponseRules(
    chunk_options=ParserOptions(version22=True),
    cuts_long_fields=True,
    accepts_partial_head=True,
    switches_protocols=False,
    strict_length=False,
    version22=True,
)
