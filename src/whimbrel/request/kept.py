"""Finished answers that are kept: what was asked before is answered again, as long as no file that the answer came from has changed.

A kept answer is its head with slots (Date, the Keep-Alive count), its body and its events: access-log lines with slots for what differs per
request, and the error-log lines to repeat.  Where it is found: request/books.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core import CoreServer
from whimbrel.config.model import LogSink
from whimbrel.http.head import Head
from whimbrel.http.response import LAST_CHUNK, chunk
from whimbrel.octets import raw
from whimbrel.request.answer import DATE_BYTES, Answer, Framing
from whimbrel.request.body import FilePart
from whimbrel.request.files import Note, mark, still_holds
from whimbrel.request.kept_view import KeptView
from whimbrel.request.log import LogLine
from whimbrel.request.raw_head import Outline, RawHead, Told, pieced, values_of
from whimbrel.request.record import Connection, Request

if TYPE_CHECKING:
    from whimbrel.request.runtime import Runtime

KEEP_ALIVE: Final = b", max="
LENGTH: Final = b"\r\nContent-Length: %d\r\n"
BASE: Final = 6144  # bytes of an answer's own, of a note of a file, of an error-log line: about
NOTE: Final = 300
EVENT: Final = 400
# times that a head's bytes are there: key, request, fields, and its line in a log, in which a byte may
# become four
HEADS: Final = 6
# bytes of a body that is written apart from its head, so that it is there once however many clients are slow
LARGE: Final = 16 * 1024
_numbers: Final = count(1)


class Kept:
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
        "adders", "adds", "after", "any_query", "asker", "before", "body", "changed", "checked", "chunked", "client", "close", "data", "date",
        "digits", "events", "file", "head", "head_size", "hot", "large", "limit", "line_client", "line_digits", "line_second", "lines", "lists",
        "logs", "moved", "moving", "notes", "nothing", "number", "outlines", "payload", "remade", "request", "size",
        "sized", "slot", "stamp", "steady", "tail", "turn", "weight", "writers",
    )

    def __init__(
        self, answer: Answer, head: Head, body: bytes, logs: tuple[Any, ...],
        file: FilePart | None = None,
    ) -> None:
        r = answer.request
        self.request = r
        self.head: Head | RawHead = head
        self.changed = r.headers_in if getattr(r.headers_in, "whole", True) else None
        self.before, self.after, self.body = answer.before, answer.after, body
        self.remade = r.remade
        self.file = b"" if file is None else raw(file.path)
        self.stamp = None if file is None or r.info is None else mark(r.info)
        self.chunked = answer.framing is Framing.CHUNKED
        self.payload = self._framed(body)  # as HTTP/1 sends it
        self.large = len(self.payload) >= LARGE
        self.number = next(_numbers)
        self.moving = _moving(r, answer.after)
        self.slot = slot_of(r, answer.after)  # what follows Date around the Keep-Alive count, and its start
        self.digits = len(str(r.keepalive_max))
        self.close = answer.close
        self.client = r.connection.client_ip if r.files.client else None
        self.asker = r.connection.client_ip
        self.lists = () if r.files.client else r.files.lists
        self.any_query = not r.files.query
        self.limit = (r.server_conf(CoreServer).max_keep_alive if not answer.close else 0) or 1 << 60
        self.notes: tuple[Note, ...] = r.files.lasting()
        self.logs: tuple[Any, ...] | None = logs
        self.writers: tuple[tuple[LogSink, Callable[[Any], bytes]], ...] = ()
        self.events: tuple[LogLine, ...] = tuple(r.log_lines)
        self.size, self.head_size = len(body) if file is None else file.length, len(answer.before) + DATE_BYTES + len(answer.after)
        copies = 1 + self.chunked + (not self.large)  # in `payload` and in `data`
        lists = sum([NOTE + len(note.path) for note in self.notes]) + sum([EVENT + len(event.text) for event in self.events])
        self.weight = BASE + len(body) * copies + lists + HEADS * len(head.raw) + 2 * self.head_size
        self.steady = not self.events and self.remade is None
        self.sized = False
        self.line_digits = 0
        self.turn = self.hot = self.checked = -2  # none: the turn of those who have no loop is -1
        self.date = self.data = self.tail = self.moved = b""
        self.line_client, self.line_second = "", 0
        self.lines: tuple[tuple[LogSink, bytes], ...] = ()
        self.outlines: tuple[Outline, ...] | None = None
        self.nothing: dict[bytes, bytes] = {}
        self.adders: tuple[tuple[Callable[[bytes], None], bytes], ...] = ()
        self.adds: tuple[Callable[[bytes], None], ...] = ()

    def valid(self, connection: Connection, turn: int) -> bool:
        """Whether it may answer a request on *connection*; files are looked at once in each *turn* of a server's loop (-1: always)."""
        if connection.served >= self.limit or (self.client is not None and self.client != connection.client_ip):
            return False
        if self.lists and connection.client_ip != self.asker and not self._like_asker(connection.client_ip):
            return False
        if turn < 0 or self.checked != turn:
            if not still_holds(self.notes, turn):
                return False
            self.checked = turn
        if self.logs is not None:
            self._prepare(self.logs)
        return self.remade is None or self._made(self.remade, connection)

    def _like_asker(self, client: str) -> bool:
        """Whether a client is in the same of `lists` as the one that the answer was made for."""
        return all((client in one) is (self.asker in one) for one in self.lists)

    def slim(self, bare: RawHead) -> None:
        """Let go of what no further use asks for: most of what a request and its head, whose bytes are *bare*, take in memory.

        The head of a body that is made anew, or of a file, is still told by the scoreboard while it is sent.
        """
        if self.remade is not None or self.file:
            return
        self.head = bare
        r: Any = self.request
        while r is not None:
            r.head, r.headers_in, r.body, r.walked, r.log_lines = None, bare, [], None, []
            r.files.notes = {}
            r = r.prev

    def _prepare(self, logs: tuple[Any, ...]) -> None:
        """Before the first use: make the writers of access-log lines, which most answers to questions that never come again need not have."""
        made = [log.frozen(self.request, any_query=self.any_query) for log in logs]
        self.writers = tuple([(log.sink, one.fill) for log, one in zip(logs, made, strict=True)])
        self.steady = self.steady and all(one.steady for one in made)
        self.sized = self.slot is not None and any(one.sized for one in made)
        outlines = tuple([one.outline for one in made if one.outline is not None])
        self.outlines = outlines if len(outlines) == len(made) else None
        self.nothing = {hole: b"-" for _fills, holes in outlines for hole in holes}
        self.logs = None

    def _framed(self, body: bytes) -> bytes:
        return chunk(body) + LAST_CHUNK if self.chunked else body

    def _made(self, make: Callable[[], bytes], connection: Connection) -> bool:
        """Make the body anew; whether there is one for this head."""
        connection.answering = self.request.head
        try:
            body = make()
        finally:
            connection.answering = None
        if not self.chunked and len(body) != self.size:
            fields = self.after.replace(LENGTH % self.size, LENGTH % len(body), 1)
            self.head_size += len(fields) - len(self.after)
            self.after = fields
        self.body, self.payload, self.size, self.data = body, self._framed(body), len(body), b""
        self.large = len(self.payload) >= LARGE
        return bool(body)

    def fields(self, connection: Connection, date: bytes, now: float) -> bytes:
        """The head as it goes out at *now*, which is *date*."""
        self.renew(date, now)
        if self.slot is None:
            return b"%b%b%b" % (self.before, date, self.after)
        first, second, maximum = self.slot
        return b"%b%b%b%d%b" % (self.before, date, first, maximum - connection.served, second)

    def wire(self, connection: Connection, date: bytes, now: float) -> bytes:
        """Head and body as they go out at *now*, which is *date*."""
        self.renew(date, now)
        if date != self.date or not self.data:
            self.date = date
            if self.slot is None:
                self.data = b"%b%b%b%b" % (self.before, date, self.after, self.payload)
            else:
                first, second, _most = self.slot
                self.data, self.tail = b"%b%b%b" % (self.before, date, first), second + self.payload
        return self.data if self.slot is None else self.counted(connection)

    def counted(self, connection: Connection) -> bytes:
        """`data` and `tail` around the Keep-Alive count of a connection."""
        return b"%b%d%b" % (self.data, self.count(connection), self.tail)

    def count(self, connection: Connection) -> int:
        """The Keep-Alive count that a connection is told now; 0 where there is none."""
        return 0 if self.slot is None else self.slot[2] - connection.served

    def renew(self, date: bytes, now: float) -> None:
        """Make the texts in `after` anew that go with the clock."""
        if not self.moving or date == self.moved:
            return
        self.after = b"".join(piece if isinstance(piece, bytes) else raw(piece(int(now))) for piece in self.moving)
        if self.slot is not None:
            at = self.after.index(KEEP_ALIVE) + len(KEEP_ALIVE)
            end = self.after.index(b"\r\n", at)
            self.slot = (self.after[:at], self.after[end:], self.slot[2])
        self.moved, self.data = date, b""

    def for_head(self, head: RawHead) -> Kept:
        """This answer for heads that are *head* to the byte."""
        if self.head.raw == head.raw:
            return self
        made = object.__new__(Kept)
        for name in Kept.__slots__:
            setattr(made, name, getattr(self, name))
        made.head, made.turn, made.hot, made.line_second, made.number = head, -2, -2, 0, next(_numbers)
        made.weight = self.weight + HEADS * len(head.raw)
        return made

    def lines_for(self, head: bytes, told: Told, connection: Connection, now: float) -> tuple[bytes, ...]:
        """The lines of one use by another *head*, one for each of `writers`; of a *steady* answer.

        *told* are its lines that they tell of: where these are the same, the same client's are the same within one second.
        """
        engine = self.request.engine
        recent = engine.log_lines
        if int(now) != recent.second:
            recent.begin(int(now))
        digits = self._digits(connection) if self.sized else 0
        key = (self.number, told, connection.client_ip, digits)
        found = recent.entries.get(key)
        if found is None:
            if self.outlines is None:
                view = KeptView(self, connection, now, RawHead(head, told))
                found = tuple([line(view) for _sink, line in self.writers])
            else:
                values = values_of(head, told, engine.shown, self.nothing)
                found = tuple([pieces % values for pieces in self._pieces(self.outlines, connection, now, digits)])
            recent.put(key, found, len(head))
        return found

    def _pieces(self, outlines: tuple[Outline, ...], connection: Connection, now: float, digits: int) -> tuple[bytes, ...]:
        """The lines for one client, within one second, but for what requests tell of themselves."""
        key, recent = (self.number, connection.client_ip, digits), self.request.engine.log_lines
        found = recent.entries.get(key)
        if found is None:
            view = KeptView(self, connection, now, None)
            found = tuple([pieced(outline, view) for outline in outlines])
            recent.put(key, found, len(self.head.raw))
        return found

    def log_lines(self, connection: Connection, now: float) -> tuple[tuple[LogSink, bytes], ...]:
        """The access-log lines of one use by a head that is *head* to the byte; of a *steady* answer."""
        second, client, digits = int(now), connection.client_ip, self._digits(connection) if self.sized else 0
        if second != self.line_second or client != self.line_client or digits != self.line_digits:
            view = KeptView(self, connection, now, None)
            self.lines = tuple((sink, line(view)) for sink, line in self.writers)
            self.line_second, self.line_client, self.line_digits = second, client, digits
        return self.lines

    def _digits(self, connection: Connection) -> int:
        """How many digits `count` has."""
        return len(str(self.count(connection)))


def slot_of(r: Request, after: bytes) -> tuple[bytes, bytes, int] | None:
    """What of a head behind Date stands before and behind the Keep-Alive count, and where that begins; None where it is not found there."""
    if not r.keepalive_max:
        return None
    mark = KEEP_ALIVE + b"%d\r\n" % r.keepalive_max
    at = after.find(mark)
    return (after[: at + 6], after[at + len(mark) - 2 :], r.keepalive_max + r.connection.served) if at >= 0 else None


def _moving(r: Request, after: bytes) -> tuple[bytes | Callable[[int], str], ...]:
    """*after* in pieces, those that go with the clock as what makes them; () where there are none."""
    pieces: list[bytes | Callable[[int], str]] = [after]
    for text, made in r.files.moving:
        last = pieces.pop()
        before, found, behind = last.partition(raw(text)) if isinstance(last, bytes) else (b"", b"", b"")
        if not found or after.count(found) > 1:
            return ()
        pieces += [before, made, behind]
    return tuple(pieces) if len(pieces) > 1 else ()


def moves_unseen(r: Request, after: bytes) -> bool:
    """Whether something in the head changes that `Kept` could not find there: another module changed it, or put it elsewhere."""
    if r.remade is not None and b"\r\nTransfer-Encoding: chunked\r\n" not in after:
        return bool(r.files.moving or r.keepalive_max) or after.count(b"\r\nContent-Length: ") != 1
    return bool(r.files.moving) and not _moving(r, after)


def repeat(kept: Kept, connection: Connection, runtime: Runtime, now: float, log: Callable[..., None], head: RawHead | None = None,
           count: int = -1, more: int = 0) -> None:
    """Write the log lines of one more use of *kept*, for *head* (None: the kept one's own); the body has *count* bytes (-1: all);
    *more*: see Answer.sent."""
    if kept.steady and not more and count in (-1, kept.size) and not connection.user_ip and not connection.notes:
        if head is None:
            for sink, line in kept.log_lines(connection, now):
                runtime.write_log(sink, line)
        else:
            for (sink, _fill), line in zip(kept.writers, kept.lines_for(head.raw, head.logged, connection, now), strict=True):
                runtime.write_log(sink, line)
        return
    view = KeptView(kept, connection, now, head)
    if count >= 0:
        view.bytes_sent = count
    view.head_bytes += more
    for event in kept.events:
        log(view, event)
    for sink, fill in kept.writers:
        runtime.write_log(sink, fill(view))
