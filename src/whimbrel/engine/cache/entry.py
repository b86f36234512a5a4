"""Entries of the response cache.

An entry holds the response head with slots (Date, the Keep-Alive count), the body, access-log lines with
slots for what differs per request, and the error-log lines to repeat. It is valid as long as no file that the
response depended on has changed. The index is cache/index.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink
from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.key import LoggedLines, LogTemplate, RawHead, render_template, template_values
from whimbrel.engine.cache.log_view import CachedRequestView
from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.files import FileDependency, stat_signature, unchanged
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.output.field_slots import ClockValue, HeadPiece, KeepAliveCount, LengthValue, joined
from whimbrel.engine.request import Request
from whimbrel.engine.response import DATE_BYTES, Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.head import Head

if TYPE_CHECKING:
    pass

BASE: Final = 6144  # approximate bytes: of an entry itself, of a dependency, of an error-log line
NOTE: Final = 300
EVENT: Final = 400
# times that a head's bytes are there: key, request, fields, and its line in a log, in which a byte may
# become four
HEADS: Final = 6
# bytes of a body that is written apart from its head, so that it is there once however many clients are slow
LARGE_THRESHOLD: Final = 16 * 1024
_numbers: Final = count(1)
Pieces = tuple[HeadPiece, ...]


class CachedResponse:
    """One entry of the response cache: a response, its log lines and its state within one tick.

    Attributes:
        client: the only client address that it is valid for; None for all addresses.
        first_client, address_lists: the client that it was built for; the entry is valid for clients that
            are in the same of these lists.
        max_served: number of earlier requests on a connection from which on it is not valid, as its head
            announces a persistent connection.
        any_query: True if it is valid for every query.
        head: the request head; `changed` are the request's fields if a module may have changed them (then
            the entry is valid for these bytes alone).
        body, file, stamp, remade: the body; or the path of a file with its signature; or a function that
            builds the body for each use.
        dependencies: the files that it depends on.
        logs, writers: access logs until the first use; then a sink and a line function of each.
        is_log_line_stable: True if all uses by one client within one second log the same line;
            `log_shows_size`: as long as the Keep-Alive count keeps its number of digits.
        logs_size: True if a line shows the bytes of the response's head.
        weight: approximate size in memory, in bytes.
        large: True if the body is written apart from the head.
        number: unique number of the entry.
        validated_tick: last tick in which the dependencies were checked.
        ready_tick, data, tail, adders, line_client: in that tick the entry is valid, `data` and `tail`
            are its bytes around the Keep-Alive count, and `adders` log a hit of `line_client` with
            `adders_lines`.
        ready_tick_any_head, adds: the same for heads with other bytes and for every client; `adds` take
            the lines of `render_logs`.
    """

    __slots__ = (
        "adders",
        "adders_lines",
        "adds",
        "head_suffix",
        "any_query",
        "first_client",
        "framing",
        "head_prefix",
        "body",
        "changed",
        "validated_tick",
        "chunked",
        "client",
        "close",
        "data",
        "date",
        "digits",
        "events",
        "file",
        "head",
        "head_size",
        "ready_tick_any_head",
        "large",
        "max_served",
        "line_client",
        "line_digits",
        "line_second",
        "lines",
        "address_lists",
        "logs",
        "has_slots",
        "later_pieces",
        "pieces",
        "rendered_date",
        "dependencies",
        "missing_values",
        "number",
        "log_templates",
        "payload",
        "remade",
        "request",
        "size",
        "log_shows_size",
        "logs_size",
        "keepalive_slot",
        "stamp",
        "is_log_line_stable",
        "tail",
        "ready_tick",
        "weight",
        "writers",
    )

    def __init__(
        self,
        response: Response,
        head: Head,
        body: bytes,
        logs: tuple[Any, ...],
        file: FileSegment | None = None,
    ) -> None:
        r = response.request
        self.request = r
        self.head: Head | RawHead = head
        self.changed = r.headers_in if getattr(r.headers_in, "all_fields_used", True) else None
        self.body = body
        self.remade = r.body_factory
        self.file = b"" if file is None else to_bytes(file.path)
        self.stamp = None if file is None or r.finfo is None else stat_signature(r.finfo)
        self.chunked = response.framing is Framing.CHUNKED
        self.payload = self._framed(body)  # as HTTP/1 sends it
        self.framing = len(self.payload) - len(body)
        self.large = len(self.payload) >= LARGE_THRESHOLD
        self.number = next(_numbers)
        self._take_head(response)
        self.digits = len(str(r.keepalive_max))
        self.close = response.close
        self.client = r.connection.client_ip if r.deps.on_client else None
        self.first_client = r.connection.client_ip
        self.address_lists = () if r.deps.on_client else r.deps.address_lists
        self.any_query = not r.deps.on_query
        self.max_served = (
            r.server_conf(CoreServerConfig).max_keep_alive if not response.close else 0
        ) or 1 << 60
        self.dependencies: tuple[FileDependency, ...] = r.deps.minimal()
        self.logs: tuple[Any, ...] | None = logs
        self.writers: tuple[tuple[LogSink, Callable[[Any], bytes]], ...] = ()
        self.events: tuple[LogLine, ...] = tuple(r.log_lines)
        self.size, self.head_size = (
            len(body) if file is None else file.length,
            len(response.head_prefix) + DATE_BYTES + len(response.head_suffix),
        )
        copies = 1 + self.chunked + (not self.large)  # in `payload` and in `data`
        lists = sum([NOTE + len(note.path) for note in self.dependencies]) + sum(
            [EVENT + len(event.text) for event in self.events]
        )
        self.weight = BASE + len(body) * copies + lists + HEADS * len(head.raw) + 2 * self.head_size
        self.is_log_line_stable = not self.events and self.remade is None
        self.log_shows_size = self.logs_size = False
        self.line_digits = 0
        self.ready_tick = self.ready_tick_any_head = (
            self.validated_tick
        ) = -2  # no tick; callers without a loop pass -1
        self.date = self.data = self.tail = self.rendered_date = b""
        self.line_client, self.line_second = "", 0
        self.lines: tuple[tuple[LogSink, bytes], ...] = ()
        self.log_templates: tuple[LogTemplate, ...] | None = None
        self.missing_values: dict[bytes, bytes] = {}
        self.adders: tuple[tuple[Callable[[bytes], None], bytes], ...] = ()
        self.adders_lines: tuple[tuple[LogSink, bytes], ...] = ()
        self.adds: tuple[Callable[[bytes], None], ...] = ()

    def _take_head(self, response: Response) -> None:
        """Keep the head of *response*, with slots for what each use computes anew."""
        r = response.request
        self.head_prefix, self.head_suffix = response.head_prefix, response.head_suffix
        # what follows Date: pieces before and after the Keep-Alive count; the same as bytes, with its start
        self.pieces, self.later_pieces = _without_count(response.slots)
        self.has_slots = any(
            isinstance(piece, ClockValue | LengthValue)
            for piece in (*self.pieces, *(self.later_pieces or ()))
        )
        self.keepalive_slot: tuple[bytes, bytes, int] | None = None
        if self.later_pieces is not None:
            self.keepalive_slot = (
                joined(self.pieces),
                joined(self.later_pieces),
                r.keepalive_max + r.connection.served,
            )

    def is_valid(self, connection: Connection, tick: int) -> bool:
        """Return True if the entry may answer a request on *connection*; its files are checked once in each
        *tick* (-1: always).
        """
        if connection.served >= self.max_served or (
            self.client is not None and self.client != connection.client_ip
        ):
            return False
        if (
            self.address_lists
            and connection.client_ip != self.first_client
            and not self._same_lists_as_maker(connection.client_ip)
        ):
            return False
        if tick < 0 or self.validated_tick != tick:
            if not unchanged(self.dependencies, tick):
                return False
            self.validated_tick = tick
        if self.logs is not None:
            self._prepare(self.logs)
        return self.remade is None or self._remake_body(self.remade, connection)

    def _same_lists_as_maker(self, client: str) -> bool:
        """Return True if *client* is in the same of `address_lists` as the client that the response was built
        for.
        """
        return all(
            (client in addresses) is (self.first_client in addresses) for addresses in self.address_lists
        )

    def release_request(self, bare: RawHead) -> None:
        """Release what later uses do not read: most of the memory of the request and its head; *bare*
        replaces the head.

        Entries with a file or a rebuilt body retain theirs: the scoreboard shows the head while such a body
        is sent.
        """
        if self.remade is not None or self.file:
            return
        self.head = bare
        r: Any = self.request
        while r is not None:
            r.head, r.headers_in, r.body, r.directory_walk, r.log_lines = None, bare, [], None, []
            r.deps.stats = {}
            r = r.prev

    def _prepare(self, logs: tuple[Any, ...]) -> None:
        """Build the writers of access-log lines at the first use; most entries are never used, so `__init__`
        does not.
        """
        templates = [log.freeze(self.request, any_query=self.any_query) for log in logs]
        self.writers = tuple(
            [(log.sink, template.fill) for log, template in zip(logs, templates, strict=True)]
        )
        self.is_log_line_stable = self.is_log_line_stable and all(line.is_stable for line in templates)
        self.logs_size = any(line.shows_size for line in templates)
        self.log_shows_size = self.keepalive_slot is not None and self.logs_size
        outlines = tuple([template.outline for template in templates if template.outline is not None])
        self.log_templates = outlines if len(outlines) == len(templates) else None
        self.missing_values = {hole: b"-" for _fills, holes in outlines for hole in holes}
        self.logs = None

    def _framed(self, body: bytes) -> bytes:
        return chunk(body) + LAST_CHUNK if self.chunked else body

    def _remake_body(self, make: Callable[[], bytes], connection: Connection) -> bool:
        """Rebuild the body; return True if there is one for this head."""
        connection.rendering = self.request.head
        try:
            body = make()
        finally:
            connection.rendering = None
        if len(body) != self.size:
            self.rendered_date = b""
        self.body, self.payload, self.size, self.data = body, self._framed(body), len(body), b""
        self.framing = len(self.payload) - len(body)
        self.large = len(self.payload) >= LARGE_THRESHOLD
        return bool(body)

    def serialize_head(self, connection: Connection, date: bytes, now: float) -> bytes:
        """Return the head as it goes out at *now*, which is *date*."""
        self.refresh(date, now)
        if self.keepalive_slot is None:
            return b"%b%b%b" % (self.head_prefix, date, self.head_suffix)
        first, second, maximum = self.keepalive_slot
        return b"%b%b%b%d%b" % (self.head_prefix, date, first, maximum - connection.served, second)

    def serialize(self, connection: Connection, date: bytes, now: float) -> bytes:
        """Head and body as they go out at *now*, which is *date*."""
        slot = self.keepalive_slot
        if date != self.date or not self.data:
            self.refresh(date, now)
            self.date, slot = date, self.keepalive_slot
            if slot is None:
                self.data = b"%b%b%b%b" % (self.head_prefix, date, self.head_suffix, self.payload)
            else:
                first, second, _most = slot
                self.data, self.tail = b"%b%b%b" % (self.head_prefix, date, first), second + self.payload
        return self.data if slot is None else b"%b%d%b" % (self.data, slot[2] - connection.served, self.tail)

    def count(self, connection: Connection) -> int:
        """Return the Keep-Alive count for *connection*; 0 if the head has none."""
        return 0 if self.keepalive_slot is None else self.keepalive_slot[2] - connection.served

    def refresh(self, date: bytes, now: float) -> None:
        """Compute the fields of `head_suffix` that depend on the clock or on the size of the body."""
        if not self.has_slots or date == self.rendered_date:
            return
        first, old = self._rendered(self.pieces, now), len(self.head_suffix)
        if self.keepalive_slot is None or self.later_pieces is None:
            self.head_suffix = first
        else:
            second, most = self._rendered(self.later_pieces, now), self.keepalive_slot[2]
            self.keepalive_slot = (first, second, most)
            self.head_suffix, self.digits = b"%b%d%b" % (first, most, second), len(str(most))
        self.head_size += len(self.head_suffix) - old
        self.rendered_date, self.data = date, b""

    def _rendered(self, pieces: Pieces, now: float) -> bytes:
        out = []
        for piece in pieces:
            if isinstance(piece, bytes):
                out.append(piece)
            elif isinstance(piece, ClockValue):
                out.append(to_bytes(piece.render(int(now))))
            else:
                out.append(b"%d" % self.size)
        return b"".join(out)

    def clone_for(self, head: RawHead) -> CachedResponse:
        """This response for heads that are *head* to the byte."""
        if self.head.raw == head.raw:
            return self
        clone = object.__new__(CachedResponse)
        for name in CachedResponse.__slots__:
            setattr(clone, name, getattr(self, name))
        clone.head, clone.ready_tick, clone.ready_tick_any_head, clone.line_second, clone.number = (
            head,
            -2,
            -2,
            0,
            next(_numbers),
        )
        clone.weight = self.weight + HEADS * len(head.raw)
        return clone

    def render_logs(
        self, head: bytes, logged: LoggedLines, connection: Connection, now: float
    ) -> tuple[bytes, ...]:
        """Return the lines for a hit by another *head*, one for each of `writers`; for entries whose lines
        are stable.

        *logged* are the field lines of that head that the logs show. They are part of the key: one client's
        lines within one second depend on nothing else.
        """
        engine = self.request.engine
        recent = engine.log_lines
        if int(now) != recent.second:
            recent.begin(int(now))
        digits = self._digits(connection) if self.log_shows_size else 0
        key = (self.number, logged, connection.client_ip, digits)
        lines = recent.entries.get(key)
        if lines is None:
            if self.log_templates is None:
                view = CachedRequestView(self, connection, now, RawHead(head, logged))
                lines = tuple([line(view) for _sink, line in self.writers])
            else:
                values = template_values(head, logged, engine.escaped_fields, self.missing_values)
                lines = tuple(
                    [pieces % values for pieces in self._pieces(self.log_templates, connection, now, digits)]
                )
            recent.put(key, lines, len(head))
        return lines

    def _pieces(
        self, outlines: tuple[LogTemplate, ...], connection: Connection, now: float, digits: int
    ) -> tuple[bytes, ...]:
        """Return the lines for one client and one second, with holes for the logged fields."""
        key, recent = (self.number, connection.client_ip, digits), self.request.engine.log_lines
        pieces = recent.entries.get(key)
        if pieces is None:
            view = CachedRequestView(self, connection, now, None)
            pieces = tuple([render_template(outline, view) for outline in outlines])
            recent.put(key, pieces, len(self.head.raw))
        return pieces

    def log_lines(self, connection: Connection, now: float) -> tuple[tuple[LogSink, bytes], ...]:
        """Return the access-log lines of a hit by the same head, byte for byte; for entries whose lines are
        stable.
        """
        second, client, digits = (
            int(now),
            connection.client_ip,
            self._digits(connection) if self.log_shows_size else 0,
        )
        if second != self.line_second or client != self.line_client or digits != self.line_digits:
            view = CachedRequestView(self, connection, now, None)
            self.lines = tuple((sink, line(view)) for sink, line in self.writers)
            self.line_second, self.line_client, self.line_digits = second, client, digits
        return self.lines

    def _digits(self, connection: Connection) -> int:
        """Return the number of digits of `count`."""
        return len(str(self.count(connection)))


def _without_count(
    pieces: Pieces,
) -> tuple[Pieces, Pieces | None]:
    """Return *pieces* before the Keep-Alive count and those after it; None for these if there is no count."""
    at = next((i for i, piece in enumerate(pieces) if isinstance(piece, KeepAliveCount)), None)
    return (pieces, None) if at is None else (pieces[:at], pieces[at + 1 :])


def has_lost_slot(r: Request, slots: Pieces) -> bool:
    """Return True if a field that each use has to compute anew is not in the head, because another module
    changed it.
    """
    found = [piece for piece in slots if isinstance(piece, ClockValue)]
    if any(all(value is not piece for piece in found) for value in r.deps.clock_fields):
        return True
    if r.keepalive_max and not any(isinstance(piece, KeepAliveCount) for piece in slots):
        return True
    return r.body_factory is not None and not r.chunked and not any(isinstance(p, LengthValue) for p in slots)
