"""Output filters: httpd's types, order and life cycle.

An `OutputFilter` is httpd's ap_filter_rec_t: stateless, registered as the provider ``output_filter`` under
its name in lower case. The state of one use is a `Transform` or a `Source`. Manual: filter.html; httpd's
util_filter.h.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable

from whimbrel.base.static_typing import TYPE_CHECKING, Any, IntEnum, IntFlag, TypeAlias
from whimbrel.engine.body import PIECE, Aborted, Source
from whimbrel.registry.module import Reads

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Begun: TypeAlias = "Transform | Source | None"


class FilterError(Aborted):
    """Failure of an output filter, which is logged.

    Before any output the response is the error page for *status*. After *passed*, and whatever went on
    before, the response ends without its last chunk.

    Attributes:
        is_bucket: the filter passed an error bucket (ap_bucket_error_create): httpd's page then has no
            Content-Length, and the connection ends. Otherwise the handler returned AP_FILTER_ERROR.
    """

    def __init__(self, status: int = 500, *, passed: bytes = b"", is_bucket: bool = False) -> None:
        super().__init__("an output filter failed")
        self.status = status
        self.passed = passed
        self.is_bucket = is_bucket


class FilterType(IntEnum):
    """Position of a filter in its chain (ap_filter_type): filters of lower types run first."""

    RESOURCE = 10  # changes the content
    CONTENT_SET = 20  # changes the content as a whole: compression, character sets, fields
    PROTOCOL = 30  # byte ranges, content length, response head
    TRANSCODE = 40  # transfer codings
    CONNECTION = 50  # the connection: TLS
    NETWORK = 60  # the socket


class FilterProtocol(IntFlag):
    """Effects of a filter on the response that carries its output (mod_filter's FilterProtocol)."""

    NONE = 0
    CHANGE = 1  # the content changes
    CHANGE_LENGTH = 2  # the length of the content changes
    NO_BYTERANGE = 4  # it needs a whole content
    NO_PROXY = 8  # it must not run on a proxied response
    NO_CACHE = 16  # its output must not be cached
    TRANSFORM = 32  # Cache-Control: no-transform forbids it


class Transform:
    """State of a filter that computes its output from its input without waiting.

    A whole small body is one call of `end`. A longer body, or one with a source, is `feed` for each piece,
    then `end` with b""; `flush` is called between them where the source pauses.

    Attributes:
        early: True if output went on before the end of the input was known, so that httpd sends the response
            in chunks. `end` may set it; output of `feed` always counts so.
        is_heavy: True if `feed` and `finish` release the GIL for most of their time: they then run in a
            thread for large pieces, and so use nothing but their own state. `end` always runs in the event
            loop.
        thread_threshold: bytes of input above which the thread pays; at most `PIECE`.
        is_sliced: True if `feed` and `end` pause (`Slices.pause_sync`) or search for long (base/pcre.py).
    """

    __slots__ = ()
    early: bool = False
    is_heavy: bool = False
    thread_threshold: int = PIECE
    is_sliced: bool = False

    @abstractmethod
    def feed(self, data: bytes) -> bytes:
        """Return the output for *data* that goes on now; b"" if there is none yet.

        Raises:
            FilterError: the output ends here; `end` may raise it too.
        """

    @abstractmethod
    def flush(self) -> bytes | None:
        """Return the output that goes on where a flush has come (httpd's FLUSH bucket), b"" if there is none.

        The flush follows the output to the next filter. None: this filter keeps the flush, as httpd's does.
        """

    def finish(self) -> None:
        """Compute what `end` returns for b"", where that is heavy; the input has ended."""

    @abstractmethod
    def end(self, data: bytes) -> bytes:
        """Return the rest of the output: *data* are the last bytes of the input."""


class OutputFilter:
    """One output filter; instances have no state of a request.

    Attributes:
        name: httpd's name, as SetOutputFilter spells it.
        type: position in the chain; types between those of `FilterType` are legal, as in httpd.
        reads: inputs of its output besides the response and the settings (see `Reads`).
        protocol: effects that mod_filter asks for.
        is_computed: True if `begin` and the output wait for nothing but a complete body and a processor.
    """

    __slots__ = ()
    is_computed: bool = False
    name: str = ""
    type: int = FilterType.RESOURCE
    reads: Reads = Reads.HEAD
    protocol: FilterProtocol = FilterProtocol.NONE

    def insert(self, r: Request) -> None:
        """Prepare the request before its handler runs (ap_filter_rec_t.filter_init_func)."""

    @abstractmethod
    def begin(self, r: Request) -> Begun | Awaitable[Begun]:
        """Return the state of this use, None to leave the chain (ap_remove_output_filter).

        The filter sees the head that the handler and the earlier filters left, and their output, `r.body`. It
        may change fields. A `Source` that it returns reads that output itself and replaces it.

        Raises:
            FilterError: the response is an error page.
        """

    def begin_in(self, r: Request, _name: str) -> Begun | Awaitable[Begun]:
        """Return the state, as `begin` does, of a provider of the smart filter *_name*."""
        return self.begin(r)


def add_output_filter(r: Request, added: OutputFilter) -> None:
    """Add *added* behind all filters of its type and of lower ones (ap_add_output_filter)."""
    chain: list[Any] = r.output_filters
    at = len(chain)
    while at and chain[at - 1].type > added.type:
        at -= 1
    chain.insert(at, added)


def keep_protocol_filters(r: Request) -> None:
    """Remove the filters of the content: what remains are r->proto_output_filters."""
    r.output_filters[:] = protocol_filters(r)


def protocol_filters(r: Request) -> list[OutputFilter]:
    """Return the filters of *r* that outlive an error and an internal redirect."""
    return [each for each in r.output_filters if each.type >= FilterType.PROTOCOL]
