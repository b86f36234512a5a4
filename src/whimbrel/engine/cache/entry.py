"""Finished answers that are kept: what was asked before is answered again, as long as no file that the answer came from has changed.

A kept answer is its head with slots (Date, the Keep-Alive count), its body and its events: access-log lines with slots for what differs per
request, and the error-log lines to repeat.  Where it is found: request/books.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import LogSink
from whimbrel.engine.cache.key import LoggedLines, LogTemplate, RawHead, render_template, template_values
from whimbrel.engine.cache.log_view import CachedRequestView
from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.files import FileDependency, stat_signature, unchanged
from whimbrel.engine.input.body import FileSegment
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Request
from whimbrel.engine.response import DATE_BYTES, Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.head import Head

if TYPE_CHECKING:
    from whimbrel.engine.runtime import Runtime

KEEP_ALIVE: Final = b", max="
LENGTH: Final = b"\r\nContent-Length: %d\r\n"
BASE: Final = 6144  # bytes of an answer's own, of a note of a file, of an error-log line: about
NOTE: Final = 300
EVENT: Final = 400
# times that a head's bytes are there: key, request, fields, and its line in a log, in which a byte may
# become four
HEADS: Final = 6
# bytes of a body that is written apart from its head, so that it is there once however many clients are slow
LARGE_THRESHOLD: Final = 16 * 1024
_numbers: Final = count(1)


class CachedResponse:
    """One kept answer.

    *client* is the only address it holds for, None for all, or for all that are in the same of *lists* as *asker* is; *limit* the number of earlier
    requests on a connection from which on it does not hold (its head says that the connection stays open).  *any_query*: it holds whatever the
    query of the request's target is.  *steady*: within one second all its uses by one client have the same log lines, those whose heads are *head*
    to the byte; *sized*: and where the Keep-Alive count has as many digits.

    *logs* are the access logs that tell of it, until its first use makes *writers* of them.

    *changed* are the fields of the request where they may have been changed: it then holds for the bytes of one head.

    The body is *body*, or all of *file*, whose mark is *stamp*, or what *remade* makes for each use.

    *weight* is about what it takes in memory, in bytes.  *large*: its body is never joined with a head.
    *number* tells kept answers apart.

    The rest are the server's notes.  In the turn of its loop with the number *turn* the answer has been found to hold, *data* are its bytes (with a
    *slot* those before the Keep-Alive count, and *tail* those behind; see `counted`), *adders* write
    its log lines for the client *line_client*.  In the turn *hot* that is so for heads that are not *head* to the byte, and whatever the client;
    *adds* take the lines that `lines_for` gives.
    """

    __slots__ = (
        "adders",
        "adds",
        "head_suffix",
        "any_query",
        "first_client",
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
        "clock_fields_date",
        "clock_fields",
        "dependencies",
        "missing_values",
        "number",
        "log_templates",
        "payload",
        "remade",
        "request",
        "size",
        "log_shows_size",
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
        answer: Response,
        head: Head,
        body: bytes,
        logs: tuple[Any, ...],
        file: FileSegment | None = None,
    ) -> None:
        r = answer.request
        self.request = r
        self.head: Head | RawHead = head
        self.changed = r.headers_in if getattr(r.headers_in, "all_fields_used", True) else None
        self.head_prefix, self.head_suffix, self.body = answer.head_prefix, answer.head_suffix, body
        self.remade = r.body_factory
        self.file = b"" if file is None else to_bytes(file.path)
        self.stamp = None if file is None or r.finfo is None else stat_signature(r.finfo)
        self.chunked = answer.framing is Framing.CHUNKED
        self.payload = self._framed(body)  # as HTTP/1 sends it
        self.large = len(self.payload) >= LARGE_THRESHOLD
        self.number = next(_numbers)
        self.clock_fields = _clock_pieces(r, answer.head_suffix)
        self.keepalive_slot = keepalive_slot(
            r, answer.head_suffix
        )  # what follows Date around the Keep-Alive count, and its start
        self.digits = len(str(r.keepalive_max))
        self.close = answer.close
        self.client = r.connection.client_ip if r.deps.on_client else None
        self.first_client = r.connection.client_ip
        self.address_lists = () if r.deps.on_client else r.deps.address_lists
        self.any_query = not r.deps.on_query
        self.max_served = (
            r.server_conf(CoreServerConfig).max_keep_alive if not answer.close else 0
        ) or 1 << 60
        self.dependencies: tuple[FileDependency, ...] = r.deps.minimal()
        self.logs: tuple[Any, ...] | None = logs
        self.writers: tuple[tuple[LogSink, Callable[[Any], bytes]], ...] = ()
        self.events: tuple[LogLine, ...] = tuple(r.log_lines)
        self.size, self.head_size = (
            len(body) if file is None else file.length,
            len(answer.head_prefix) + DATE_BYTES + len(answer.head_suffix),
        )
        copies = 1 + self.chunked + (not self.large)  # in `payload` and in `data`
        lists = sum([NOTE + len(note.path) for note in self.dependencies]) + sum(
            [EVENT + len(event.text) for event in self.events]
        )
        self.weight = BASE + len(body) * copies + lists + HEADS * len(head.raw) + 2 * self.head_size
        self.is_log_line_stable = not self.events and self.remade is None
        self.log_shows_size = False
        self.line_digits = 0
        self.ready_tick = self.ready_tick_any_head = (
            self.validated_tick
        ) = -2  # none: the turn of those who have no loop is -1
        self.date = self.data = self.tail = self.clock_fields_date = b""
        self.line_client, self.line_second = "", 0
        self.lines: tuple[tuple[LogSink, bytes], ...] = ()
        self.log_templates: tuple[LogTemplate, ...] | None = None
        self.missing_values: dict[bytes, bytes] = {}
        self.adders: tuple[tuple[Callable[[bytes], None], bytes], ...] = ()
        self.adds: tuple[Callable[[bytes], None], ...] = ()

    def is_valid(self, connection: Connection, tick: int) -> bool:
        """Whether it may answer a request on *connection*; files are looked at once in each *turn* of a server's loop (-1: always)."""
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
        """Whether a client is in the same of `lists` as the one that the answer was made for."""
        return all((client in one) is (self.first_client in one) for one in self.address_lists)

    def release_request(self, bare: RawHead) -> None:
        """Let go of what no further use asks for: most of what a request and its head, whose bytes are *bare*, take in memory.

        The head of a body that is made anew, or of a file, is still told by the scoreboard while it is sent.
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
        """Before the first use: make the writers of access-log lines, which most answers to questions that never come again need not have."""
        templates = [log.freeze(self.request, any_query=self.any_query) for log in logs]
        self.writers = tuple([(log.sink, one.fill) for log, one in zip(logs, templates, strict=True)])
        self.is_log_line_stable = self.is_log_line_stable and all(line.is_stable for line in templates)
        self.log_shows_size = self.keepalive_slot is not None and any(line.shows_size for line in templates)
        outlines = tuple([one.outline for one in templates if one.outline is not None])
        self.log_templates = outlines if len(outlines) == len(templates) else None
        self.missing_values = {hole: b"-" for _fills, holes in outlines for hole in holes}
        self.logs = None

    def _framed(self, body: bytes) -> bytes:
        return chunk(body) + LAST_CHUNK if self.chunked else body

    def _remake_body(self, make: Callable[[], bytes], connection: Connection) -> bool:
        """Make the body anew; whether there is one for this head."""
        connection.rendering = self.request.head
        try:
            body = make()
        finally:
            connection.rendering = None
        if not self.chunked and len(body) != self.size:
            fields = self.head_suffix.replace(LENGTH % self.size, LENGTH % len(body), 1)
            self.head_size += len(fields) - len(self.head_suffix)
            self.head_suffix = fields
        self.body, self.payload, self.size, self.data = body, self._framed(body), len(body), b""
        self.large = len(self.payload) >= LARGE_THRESHOLD
        return bool(body)

    def serialize_head(self, connection: Connection, date: bytes, now: float) -> bytes:
        """The head as it goes out at *now*, which is *date*."""
        self.refresh(date, now)
        if self.keepalive_slot is None:
            return b"%b%b%b" % (self.head_prefix, date, self.head_suffix)
        first, second, maximum = self.keepalive_slot
        return b"%b%b%b%d%b" % (self.head_prefix, date, first, maximum - connection.served, second)

    def serialize(self, connection: Connection, date: bytes, now: float) -> bytes:
        """Head and body as they go out at *now*, which is *date*."""
        self.refresh(date, now)
        if date != self.date or not self.data:
            self.date = date
            if self.keepalive_slot is None:
                self.data = b"%b%b%b%b" % (self.head_prefix, date, self.head_suffix, self.payload)
            else:
                first, second, _most = self.keepalive_slot
                self.data, self.tail = b"%b%b%b" % (self.head_prefix, date, first), second + self.payload
        return self.data if self.keepalive_slot is None else self.with_keepalive(connection)

    def with_keepalive(self, connection: Connection) -> bytes:
        """`data` and `tail` around the Keep-Alive count of a connection."""
        return b"%b%d%b" % (self.data, self.count(connection), self.tail)

    def count(self, connection: Connection) -> int:
        """The Keep-Alive count that a connection is told now; 0 where there is none."""
        return 0 if self.keepalive_slot is None else self.keepalive_slot[2] - connection.served

    def refresh(self, date: bytes, now: float) -> None:
        """Make the texts in `after` anew that go with the clock."""
        if not self.clock_fields or date == self.clock_fields_date:
            return
        self.head_suffix = b"".join(
            piece if isinstance(piece, bytes) else to_bytes(piece(int(now))) for piece in self.clock_fields
        )
        if self.keepalive_slot is not None:
            at = self.head_suffix.index(KEEP_ALIVE) + len(KEEP_ALIVE)
            end = self.head_suffix.index(b"\r\n", at)
            self.keepalive_slot = (self.head_suffix[:at], self.head_suffix[end:], self.keepalive_slot[2])
        self.clock_fields_date, self.data = date, b""

    def clone_for(self, head: RawHead) -> CachedResponse:
        """This answer for heads that are *head* to the byte."""
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
        """The lines of one use by another *head*, one for each of `writers`; of a *steady* answer.

        *told* are its lines that they tell of: where these are the same, the same client's are the same within one second.
        """
        engine = self.request.engine
        recent = engine.log_lines
        if int(now) != recent.second:
            recent.begin(int(now))
        digits = self._digits(connection) if self.log_shows_size else 0
        key = (self.number, logged, connection.client_ip, digits)
        found = recent.entries.get(key)
        if found is None:
            if self.log_templates is None:
                view = CachedRequestView(self, connection, now, RawHead(head, logged))
                found = tuple([line(view) for _sink, line in self.writers])
            else:
                values = template_values(head, logged, engine.escaped_fields, self.missing_values)
                found = tuple(
                    [pieces % values for pieces in self._pieces(self.log_templates, connection, now, digits)]
                )
            recent.put(key, found, len(head))
        return found

    def _pieces(
        self, outlines: tuple[LogTemplate, ...], connection: Connection, now: float, digits: int
    ) -> tuple[bytes, ...]:
        """The lines for one client, within one second, but for what requests tell of themselves."""
        key, recent = (self.number, connection.client_ip, digits), self.request.engine.log_lines
        found = recent.entries.get(key)
        if found is None:
            view = CachedRequestView(self, connection, now, None)
            found = tuple([render_template(outline, view) for outline in outlines])
            recent.put(key, found, len(self.head.raw))
        return found

    def log_lines(self, connection: Connection, now: float) -> tuple[tuple[LogSink, bytes], ...]:
        """The access-log lines of one use by a head that is *head* to the byte; of a *steady* answer."""
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
        """How many digits `count` has."""
        return len(str(self.count(connection)))


def keepalive_slot(r: Request, after: bytes) -> tuple[bytes, bytes, int] | None:
    """What of a head behind Date stands before and behind the Keep-Alive count, and where that begins; None where it is not found there."""
    if not r.keepalive_max:
        return None
    mark = KEEP_ALIVE + b"%d\r\n" % r.keepalive_max
    at = after.find(mark)
    return (
        (after[: at + 6], after[at + len(mark) - 2 :], r.keepalive_max + r.connection.served)
        if at >= 0
        else None
    )


def _clock_pieces(r: Request, after: bytes) -> tuple[bytes | Callable[[int], str], ...]:
    """*after* in pieces, those that go with the clock as what makes them; () where there are none."""
    pieces: list[bytes | Callable[[int], str]] = [after]
    for text, render in r.deps.clock_fields:
        last = pieces.pop()
        before, found, behind = last.partition(to_bytes(text)) if isinstance(last, bytes) else (b"", b"", b"")
        if not found or after.count(found) > 1:
            return ()
        pieces += [before, render, behind]
    return tuple(pieces) if len(pieces) > 1 else ()


def has_untracked_clock_field(r: Request, after: bytes) -> bool:
    """Whether something in the head changes that `Kept` could not find there: another module changed it, or put it elsewhere."""
    if r.body_factory is not None and b"\r\nTransfer-Encoding: chunked\r\n" not in after:
        return bool(r.deps.clock_fields or r.keepalive_max) or after.count(b"\r\nContent-Length: ") != 1
    return bool(r.deps.clock_fields) and not _clock_pieces(r, after)


def log_hit(
    cached: CachedResponse,
    connection: Connection,
    runtime: Runtime,
    now: float,
    log: Callable[..., None],
    head: RawHead | None = None,
    count: int = -1,
    more: int = 0,
) -> None:
    """Write the log lines of one more use of *kept*, for *head* (None: the kept one's own); the body has *count* bytes (-1: all);
    *more*: see Answer.sent."""
    if (
        cached.is_log_line_stable
        and not more
        and count in (-1, cached.size)
        and not connection.useragent_ip
        and not connection.notes
    ):
        if head is None:
            for sink, line in cached.log_lines(connection, now):
                runtime.write_log(sink, line)
        else:
            for (sink, _fill), line in zip(
                cached.writers, cached.render_logs(head.raw, head.logged, connection, now), strict=True
            ):
                runtime.write_log(sink, line)
        return
    view = CachedRequestView(cached, connection, now, head)
    if count >= 0:
        view.bytes_sent = count
    view.head_bytes += more
    for event in cached.events:
        log(view, event)
    for sink, fill in cached.writers:
        runtime.write_log(sink, fill(view))
