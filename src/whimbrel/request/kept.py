"""Finished answers that are kept: the same bytes asked again are answered again, as long as no file they came from has changed.

A kept answer is its head with slots (Date, the Keep-Alive count), its body and its events: access-log lines with slots for what differs per
request, and the error-log lines to repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core import CoreServer
from whimbrel.config.model import LogSink
from whimbrel.request.answer import DATE_BYTES, Answer, Framing
from whimbrel.request.files import Dependency, still_holds
from whimbrel.request.record import Connection, Request

if TYPE_CHECKING:
    from whimbrel.request.runtime import Runtime

MAX_BODY: Final = 256 * 1024
MAX_BYTES: Final = 12 * 1024 * 1024
MAX_ENTRIES: Final = 4096
SETTLED: Final = 1_000_000_000  # nanoseconds: a file changed within the last second may change again unseen


class KeptView:
    """What the dynamic items of an access-log line may ask of a kept answer's request."""

    __slots__ = ("bytes_sent", "connection", "head_bytes", "request", "time")

    def __init__(self, request: Request, connection: Connection, time: float, bytes_sent: int, head_bytes: int) -> None:
        self.request, self.connection, self.time = request, connection, time
        self.bytes_sent, self.head_bytes = bytes_sent, head_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)


@dataclass(slots=True)
class Kept:
    """One kept answer.

    *client* is the only address it holds for, None for all; *limit* the number of earlier requests on a connection from which on it does not
    hold (its head says that the connection stays open).
    """

    request: Request
    before: bytes
    after: bytes
    slot: tuple[bytes, bytes, int] | None  # what follows Date around the Keep-Alive count, and its start
    body: bytes
    close: bool
    client: str | None
    limit: int
    notes: tuple[Dependency, ...]
    writers: tuple[tuple[LogSink, Callable[[Any], bytes]], ...]
    events: tuple[tuple[str, str, str, str], ...]

    def valid(self, connection: Connection) -> bool:
        """Whether it may answer a request on *connection*."""
        return connection.served < self.limit and (self.client is None or self.client == connection.client_ip) and still_holds(self.notes)

    def wire(self, connection: Connection, date: bytes) -> bytes:
        """Head and body as they go out."""
        if self.slot is None:
            return b"%b%b%b%b" % (self.before, date, self.after, self.body)
        first, second, maximum = self.slot
        return b"%b%b%b%d%b%b" % (self.before, date, first, maximum - connection.served, second, self.body)


class KeptAnswers:
    """The kept answers of one engine, by listener address and the exact bytes of the request head; bounded in number and bytes.

    Two generations: what was asked since the last change of generation survives the next.
    """

    __slots__ = ("_bytes", "old", "young")

    def __init__(self) -> None:
        self.young: dict[tuple[str, int, bytes], Kept] = {}
        self.old: dict[tuple[str, int, bytes], Kept] = {}
        self._bytes = 0

    def find(self, connection: Connection, head: bytes) -> Kept | None:
        """The kept answer for these bytes, if it still holds."""
        key = (connection.local_ip, connection.local_port, head)
        kept = self.young.get(key)
        if kept is None:
            kept = self.old.get(key)
            if kept is None:
                return None
            self._put(key, kept)
        return kept if kept.valid(connection) else None

    def _put(self, key: tuple[str, int, bytes], kept: Kept) -> None:
        self._bytes += len(kept.body) + 2048
        if len(self.young) >= MAX_ENTRIES or self._bytes > MAX_BYTES:
            self.old, self.young = self.young, {}
            self._bytes = len(kept.body) + 2048
        self.young[key] = kept

    def clear(self) -> None:
        """Drop everything."""
        self.young, self.old, self._bytes = {}, {}, 0

    def offer(self, head: bytes, answer: Answer, writers: tuple[Any, ...]) -> None:
        """Keep *answer* if it depended on nothing but the head, the client's address and files that have been at rest."""
        r = answer.request
        if not _keepable(r, answer):
            return
        body = b"".join(part for part in answer.parts if isinstance(part, bytes))
        if len(body) > MAX_BODY:
            return
        notes = tuple((path, follow, known) for (path, follow), known in r.files.notes.items())
        connection = r.connection
        lines = tuple((w.sink, w.frozen(r)) for w in writers if w.applies(r))
        limit = r.server_conf(CoreServer).max_keep_alive if not answer.close else 0
        kept = Kept(
            request=r, before=answer.before, after=answer.after, slot=_slot(r, answer.after), body=body, close=answer.close,
            client=connection.client_ip if r.files.client else None, limit=limit or 1 << 60, notes=notes, writers=lines, events=tuple(r.log_lines),
        )
        self._put((connection.local_ip, connection.local_port, head), kept)


def _keepable(r: Request, answer: Answer) -> bool:
    if not r.keep or r.connection.ending or r.method_number != 0 or r.assbackwards:
        return False
    if answer.stream is not None or answer.framing is not Framing.LENGTH:
        return False
    if r.body_in.length != 0 or not all(isinstance(part, bytes) for part in answer.parts):
        return False
    if answer.close and "nokeepalive" not in r.env and 0 < r.server_conf(CoreServer).max_keep_alive <= r.connection.served:
        return False  # the connection has had its number of requests: others have not
    return r.time * 1e9 - r.files.newest > SETTLED


def _slot(r: Request, after: bytes) -> tuple[bytes, bytes, int] | None:
    if not r.keepalive_max:
        return None
    mark = b", max=%d\r\n" % r.keepalive_max
    at = after.find(mark)
    return (after[: at + 6], after[at + len(mark) - 2 :], r.keepalive_max + r.connection.served) if at >= 0 else None


def repeat(kept: Kept, connection: Connection, runtime: Runtime, now: float, log: Callable[..., None]) -> None:
    """Write the log lines of one more use of *kept*."""
    view = KeptView(kept.request, connection, now, len(kept.body), len(kept.before) + DATE_BYTES + len(kept.after))
    for sink, line in kept.writers:
        runtime.write_log(sink, line(view))
    for level, text, code, module in kept.events:
        log(view, level, text, code, module)
