"""Server push on one connection: promised streams, and when their requests are passed to the engine.

RFC 9113, 8.4; manual: mod/mod_http2.html (H2Push, H2PushResource, H2EarlyHints).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Final

from whimbrel.http.http2.protocol import HeadTooLong, promised_request
from whimbrel.http.http2.push import NONE, Candidate, PushDiary, candidates, policy, request_fields
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.head import Head
from whimbrel.server.http2.stream import Stream

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection

MAX_WAITING: Final = 512 * 1024  # bytes of promised requests that wait; what exceeds them is not promised
STREAM: Final = 4096  # bytes of a promised stream besides its path and fields
PUSH_OFF: Final = "http2-push-off"  # note of a stream's connection: H2Push off where the resource is
_STATUS_WITHOUT: Final = 304


class Pusher:
    """Promises the resources that responses on one connection preload.

    Attributes:
        waiting: promised streams that the client does not let respond yet
        size: approximate bytes of `waiting`
        running: promised streams that respond
    """

    def __init__(self, session: Http2Connection) -> None:
        self.session = session
        self.wire = session.wire
        self.diary: PushDiary | None = None
        self.waiting: deque[Stream] = deque()
        self.size = 0
        self.running = 0

    @property
    def is_enabled(self) -> bool:
        """True if server and client allow pushes (h2_session_push_enabled)."""
        session = self.session
        return bool(session.settings.push) and self.wire.takes_push and not session.leaving

    def note(self, head: Head) -> str:
        """Return the value of H2PUSH for a request with *head*."""
        return "on" if self.is_enabled and policy(_accepted(head)) != NONE else "off"

    def push(self, stream: Stream, status: int, values: Iterable[str]) -> str:
        """Promise what the Link fields *values* of a response on *stream* preload; return the client's policy
        for the field Push-Policy, "" if nothing is to be pushed.
        """
        head = stream.head
        if (
            not stream.number & 1
            or head.method != "GET"
            or status >= 400
            or status == _STATUS_WITHOUT
            or not self.is_enabled
            or PUSH_OFF in stream.connection.notes
        ):
            return ""
        chosen = policy(_accepted(head))
        scheme = "http" if self.session.connection.tls is None else "https"
        authority = head.headers.get("Host") or ""
        found = candidates(values, scheme, authority) if chosen != NONE else iter(())
        first = next(found, None)
        if first is None:
            return ""
        if self.diary is None:
            self.diary = PushDiary(self.session.settings.diary_size)
        fields = request_fields(head.headers, authority)
        for candidate in chain((first,), found):  # parsed up to what is not promised any more
            if self.diary.is_new(scheme, authority, candidate.path) and not self._promise(
                stream, "HEAD" if chosen == "head" else "GET", scheme, candidate, fields
            ):
                break
        self.begin()
        return chosen

    def _promise(
        self, parent: Stream, method: str, scheme: str, candidate: Candidate, fields: Headers
    ) -> bool:
        """Promise one resource; return False if no more may wait."""
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()]
        size = STREAM + len(candidate.path) + sum([len(name) + len(value) for name, value in pairs])
        if self.size + size > MAX_WAITING:
            return False
        authority = pairs[-1][1]
        try:
            block = self.wire.encoder.encode(
                [
                    (b":scheme", scheme.encode("latin-1")),
                    (b":authority", authority),
                    (b":path", candidate.path.encode("latin-1")),
                    (b":method", method.encode("latin-1")),
                    *pairs,
                ],
                priority=0,
            )
        except HeadTooLong:
            return True
        number, sent = self.wire.promise(parent.number, block)
        listener = self.session.listener
        head = promised_request(method, candidate.path, fields.copy(), listener.limits, listener.rules)
        stream = self.session.open_promised(number, head, parent)
        stream.sent = sent
        stream.head_size = size
        if candidate.is_critical:
            parent.follow(stream)
        else:
            stream.follow(parent)
        self.waiting.append(stream)
        self.size += size
        return True

    def order(self, stream: Stream, media_type: str) -> None:
        """Place the body of a promised stream before or behind that of its parent (H2PushPriority)."""
        places = self.session.settings.priorities
        parent = stream.parent
        if parent is None or not places:
            return
        place = places.get(re.split("[; \t]", media_type, maxsplit=1)[0], places.get("*"))
        if place is None or stream.followers:  # a critical one stays in front
            return
        stream.unlink()
        if place == "before":
            parent.follow(stream)
        elif place == "after":
            stream.follow(parent)

    def begin(self) -> None:
        """Begin the promised streams for which the client has room (SETTINGS_MAX_CONCURRENT_STREAMS)."""
        most = self.session.settings.max_streams
        if self.wire.max_pushed is not None:
            most = min(most, self.wire.max_pushed)
        while self.waiting and self.running < most:
            stream = self.waiting.popleft()
            self.size -= stream.head_size
            self.running += 1
            self.session.begin_promised(stream)

    def forget(self, stream: Stream) -> bool:
        """Remove a stream that the client has reset; return True if it was waiting."""
        if stream not in self.waiting:
            return False
        self.waiting.remove(stream)
        self.size -= stream.head_size
        return True

    def end(self) -> None:
        """Note the end of a promised stream that has begun."""
        self.running -= 1
        self.begin()


def _accepted(head: Head) -> str | None:
    return head.headers.get("Accept-Push-Policy")
