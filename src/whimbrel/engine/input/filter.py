"""Input filters: wrappers of the request body, in httpd's order.

An `InputFilter` is registered as the provider ``input_filter`` under its name in lower case.
Manual: filter.html.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.output.filter import FilterType
from whimbrel.http.http1.chunked import BodyError

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


class InputFilter:
    """One input filter; instances have no state of a request.

    Attributes:
        name: httpd's name, as SetInputFilter spells it.
        type: position in the chain: a filter of a lower type reads from those of higher ones.
    """

    __slots__ = ()
    name: str = ""
    type: int = FilterType.RESOURCE

    def insert(self, r: Request) -> None:
        """Prepare the request before its handler runs."""

    @abstractmethod
    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the body that *r* reads in place of *body*; *body* itself to leave the chain."""


class FilteredBody(RequestBody):
    """Request body that is read through a filter; `read` is the filter's own.

    Attributes:
        source: the body in front of the filter.
        preserves_length: the filter returns as many bytes as it reads.
    """

    __slots__ = ("source",)
    is_filtered = True
    preserves_length = False

    def __init__(self, source: RequestBody) -> None:
        super().__init__(source.length)
        self.source = source
        self.received = source.received
        self.framing = source.framing
        self.trailers = source.trailers

    @property
    def ended(self) -> bool:
        return self.source.ended

    @property
    def keeps_length(self) -> bool:
        """True if neither this filter nor one in front of it changes the length."""
        return self.preserves_length and self.source.keeps_length

    @property
    def buffered(self) -> int:
        return self.source.buffered

    def check_announced(self) -> None:
        """See RequestBody.check_announced: the bytes on the wire count."""
        try:
            self.source.check_announced()
        except BodyError as problem:
            raise self.refused(problem) from None

    async def read_source(self) -> bytes:
        """Return the next bytes of the input, b"" at the end; raise BodyError."""
        source = self.source
        try:
            return await source.read()
        except BodyError as problem:
            raise self.refused(problem) from None
        finally:
            self.received = source.received
            self.framing = source.framing
            self.trailers = source.trailers

    @abstractmethod
    async def read(self) -> bytes:
        """Return the next bytes of the output, b"" at the end; raise BodyError."""

    def close(self) -> None:
        """Release what the filter and those nearer to the connection hold."""
        self.source.close()


def add_input_filter(r: Request, added: InputFilter) -> None:
    """Add *added* behind all filters of its type and of lower ones (ap_add_input_filter)."""
    chain: list[Any] = r.input_filters
    at = len(chain)
    while at and chain[at - 1].type > added.type:
        at -= 1
    chain.insert(at, added)


def run_input_filters(r: Request) -> None:
    """Wrap the request body of *r*: the filter nearest to the connection first."""
    for each in reversed(r.input_filters):
        r.body_in = each.wrap(r, r.body_in)
    r.input_filters.clear()
