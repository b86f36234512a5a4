"""Entries of the response cache: a response, its validity, its log lines and its state within one tick.

The index is cache/index.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.hit_log import HitLog
from whimbrel.engine.cache.raw_head import RawHead
from whimbrel.engine.cache.response_template import ResponseTemplate
from whimbrel.engine.cache.validity import Validity
from whimbrel.engine.connection import Connection
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response
from whimbrel.engine.runtime import Runtime
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.head_shape import SplitHead

# approximate bytes: an entry with its request, one that shares it, a dependency, an error-log line
BASE: Final = 4096
COPY: Final = 1280
NOTE: Final = 300
EVENT: Final = 400
HEADS: Final = 3  # times that a head's bytes are there: as a whole, in pieces, in lower case for logs
PIECE: Final = 48  # a piece of a head, beside its bytes


class RebuiltBody:
    """The body of a page that is built anew in each tick in which it is sent.

    Attributes:
        make: builds the body; b"" if there is none for this head.
        tick: the one in which it was built.
    """

    __slots__ = ("_request", "make", "tick")

    def __init__(self, r: Request, make: Callable[[], bytes]) -> None:
        self._request = r
        self.make = make
        self.tick: int | None = None

    def renew(self, template: ResponseTemplate, connection: Connection, tick: int | None) -> bool:
        """Build the body, once in a *tick* for all connections; the second request of a connection in one
        tick sees what the first has changed. Return True if there is a body for this head.
        """
        if tick is None or self.tick != tick or connection.remade_tick == tick:
            self.tick = tick
            connection.remade_tick = tick
            connection.rendering = self._request.head
            try:
                body = self.make()
            finally:
                connection.rendering = None
            template.replace_body(body)
        else:
            connection.remade_tick = tick
        return bool(template.body)


class CachedResponse:
    """One entry of the response cache.

    Attributes:
        template, validity, log: what it sends, to whom, and what a hit writes to logs.
        rebuilt: the body if it is built anew; else None.
        weight: approximate size in memory, in bytes; `is_used`: see `SecondChance`.
        origin: the answer that it was made of, as others for other paths were (engine/specialized), or None.
        ready_tick, ready_client: in that tick it is valid, and hits need nothing but the bytes of `template`
            and `HitLog.append`: by the same bytes for this client, by other heads for every client.
        data, data_date: head and body with that value of Date, for hits by the same bytes.
    """

    __slots__ = (
        "data",
        "data_date",
        "is_used",
        "log",
        "origin",
        "ready_client",
        "ready_tick",
        "rebuilt",
        "template",
        "validity",
        "weight",
    )

    def __init__(
        self,
        response: Response,
        head: Head,
        own: SplitHead,
        body: bytes,
        logs: tuple[Any, ...],
        file: FileSegment | None = None,
    ) -> None:
        r = response.request
        self.template = ResponseTemplate(response, body, file)
        self.validity = Validity(response)
        self.log = HitLog(r, head, own, logs)
        self.rebuilt = None if r.body_factory is None else RebuiltBody(r, r.body_factory)
        lists = sum([NOTE + len(note.path) for note in self.validity.dependencies]) + sum(
            [EVENT + len(event.text) for event in self.log.events]
        )
        copies = 1 + self.template.is_chunked
        self.weight = BASE + len(body) * copies + lists + _weight_of(own) + 2 * self.template.head_size
        self.is_used = False
        self.origin: object = None
        self.ready_tick: int | None = None
        self.ready_client = ""
        self.data = b""
        self.data_date = b""

    @property
    def request(self) -> Request:
        """Return the request that the response was built for."""
        return self.log.request

    def is_valid(self, connection: Connection, tick: int | None) -> bool:
        """Return True if the entry may answer a request on *connection*; see `Validity.holds`."""
        if not self.validity.holds(connection, tick):
            return False
        self.is_used = True
        if not self.log.is_prepared:
            self.log.prepare()
        return self.rebuilt is None or self.rebuilt.renew(self.template, connection, tick)

    def make_ready(self, connection: Connection, runtime: Runtime, tick: int) -> None:
        """Let a valid entry answer without validation until the end of *tick*, if all its hits have lines
        that need little.

        The next tick, a fraction of a millisecond later, sees changes on disk.
        """
        log = self.log
        template = self.template
        if not log.is_quick:
            log.find_appenders(template, connection, runtime)
        if log.is_quick and not template.is_large and template.file is None:
            self.ready_client = connection.client_ip
            self.ready_tick = tick

    def own_data(self, date: bytes) -> bytes:
        """Return head and body of a ready entry without Keep-Alive count at *date*, for the same bytes."""
        if self.data_date is not date:
            self.data = self.template.serialize(0, date, 0.0)
            self.data_date = date
        return self.data

    def set_size(self, size: int) -> None:
        """Let a chunked response have a body of *size* bytes, which is elsewhere."""
        if size != self.template.size:
            self.template.set_size(size)
            self.log.forget_response()

    def release_request(self, bare: RawHead) -> None:
        """Release most of the memory of the request; see `HitLog.release_request`.

        Entries with a rebuilt body retain it: the scoreboard shows the head while it is rebuilt.
        """
        if self.rebuilt is None:
            self.log.release_request(bare)

    def copy(
        self,
        *,
        own: SplitHead | None = None,
        template: ResponseTemplate | None = None,
        validity: Validity | None = None,
    ) -> CachedResponse:
        """Return a copy that is not ready; with *own* it is for heads that are the same to the byte."""
        clone: CachedResponse = object.__new__(CachedResponse)
        clone.template = self.template if template is None else template
        clone.validity = self.validity if validity is None else validity
        clone.log = self.log.copy(own)
        clone.rebuilt = self.rebuilt
        clone.origin = self.origin
        clone.is_used = False
        clone.ready_tick = None
        clone.ready_client = ""
        clone.data = b""
        clone.data_date = b""
        clone.weight = COPY
        if own is not None:
            # `data`; or a large body, which it keeps when the entry that it was copied from is gone
            size = len(self.template.body) * (1 + self.template.is_chunked)
            clone.weight += _weight_of(own) + self.template.head_size + size
        elif template is not None:
            clone.weight += 3 * template.head_size + len(template.body)
        return clone


def _weight_of(own: SplitHead) -> int:
    return HEADS * len(own[0]) + PIECE * len(own[1])


# An entry and the head that it answers: its bytes, and the shape that they have.  It is a bare tuple, because
# each request makes one.
Hit = tuple[CachedResponse, SplitHead]
