"""Log lines of the hits of a cached response."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.config.model import LogSink
from whimbrel.engine.cache.log_template import Fill, FilledTemplate, LogTemplate, RenderLine
from whimbrel.engine.cache.log_view import CachedRequestView
from whimbrel.engine.cache.raw_head import RawHead
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.head_shape import NO_SHAPE, SplitHead

if TYPE_CHECKING:
    from whimbrel.engine.cache.response_template import ResponseTemplate
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.request import Request
    from whimbrel.engine.runtime import Runtime

Append = Callable[[bytes], None]  # a function that takes the lines of one log


class HitLog:
    """What a hit of one response writes to logs.

    Attributes:
        request: the request that the response was built for; `head`: its head, and `own` in pieces.
        changed: the request's fields if a module or a target in absolute form may have changed them.
        any_query: True if the response is the same for every query.
        events: the error-log lines to repeat.
        is_prepared: `prepare` was called.
        is_stable: all hits by one client, head and second have the same lines.
        shows_size: a line shows the bytes of the response's head.
        is_quick: the lines need the head, the client and the second alone; False before the first use.
        appenders: then a function for each log, with that which renders its line.
        own_lines, own_client, own_time: for each log a function and the last line of a hit by `own`, and the
            client and the second of that line: many hits of one second have the same bytes.
    """

    __slots__ = (
        "_filled",
        "_fills",
        "_logs",
        "_sinks",
        "_templates",
        "_written_lines",
        "any_query",
        "appenders",
        "changed",
        "events",
        "head",
        "is_prepared",
        "is_quick",
        "is_stable",
        "own",
        "own_client",
        "own_lines",
        "own_time",
        "request",
        "shows_size",
    )

    def __init__(self, r: Request, head: Head, own: SplitHead, logs: tuple[Any, ...]) -> None:
        self.request = r
        self.head: Head | RawHead = head
        self.own = own
        is_changed = head.url is not None or getattr(r.headers_in, "all_fields_used", True)
        self.changed = r.headers_in if is_changed else None
        self.any_query = not r.deps.on_query
        self.events: tuple[LogLine, ...] = tuple(r.log_lines)
        self.is_stable = not self.events and r.body_factory is None
        self.shows_size = False
        self.is_quick = False
        self.appenders: tuple[tuple[Append, RenderLine], ...] = ()
        self.is_prepared = False
        self._logs: tuple[Any, ...] = logs
        self._sinks: tuple[LogSink, ...] = ()
        self._fills: tuple[Fill, ...] = ()
        # templates of the lines, None if their holes are more than parts of the head; and for this response,
        # by the digits of the Keep-Alive count
        self._templates: tuple[LogTemplate, ...] | None = None
        self._filled: dict[int, list[FilledTemplate]] = {}
        self.own_time = b""
        self.own_client = b""
        self.own_lines: tuple[tuple[Append, bytes], ...] = ()
        self._written_lines: tuple[tuple[LogSink, bytes], ...] = ()  # the same, for `write_log`

    def prepare(self) -> None:
        """Build what renders access-log lines; most entries are never used, so `__init__` does not."""
        lines = [log.freeze(self.request, any_query=self.any_query) for log in self._logs]
        self._sinks = tuple([log.sink for log in self._logs])
        self._fills = tuple([line.fill for line in lines])
        self.is_stable = self.is_stable and all(line.is_stable for line in lines)
        self.shows_size = any(line.shows_size for line in lines)
        templates = tuple([line.outline for line in lines if line.outline is not None])
        is_general = len(templates) == len(lines) and self.changed is None
        self._templates = templates if is_general else None
        self.is_prepared = True

    def copy(self, own: SplitHead | None = None) -> HitLog:
        """Return a copy: with *own* for heads that are the same to the byte, else for another response."""
        copy: HitLog = object.__new__(HitLog)
        copy.request = self.request
        copy.head = self.head
        copy.own = self.own
        copy.changed = self.changed
        copy.any_query = self.any_query
        copy.events = self.events
        copy.is_stable = self.is_stable
        copy.shows_size = self.shows_size
        copy.is_prepared = self.is_prepared
        copy._logs = self._logs
        copy._sinks = self._sinks
        copy._fills = self._fills
        copy._templates = self._templates
        copy.own_time = b""
        copy.own_client = b""
        copy.own_lines = ()
        copy._written_lines = ()
        if own is None:
            copy.forget_response()
        else:
            copy.head = RawHead(own[0])
            copy.own = own
            copy.is_quick = self.is_quick
            copy.appenders = self.appenders
            copy._filled = self._filled
        return copy

    def forget_response(self) -> None:
        """Drop what was rendered for the response: it is another one."""
        self.is_quick = False
        self.appenders = ()
        self._filled = {}
        self.own_time = b""

    def release_request(self, bare: RawHead) -> None:
        """Release what later hits do not read, most of the request and its head, which *bare* replaces."""
        self.head = bare
        r: Request | None = self.request
        while r is not None:
            r.head = None
            r.headers_in = bare  # type: ignore[assignment]
            r.body = []
            r.directory_walk = None
            r.log_lines = []
            r.deps.stats = {}
            r = r.prev

    def find_appenders(self, template: ResponseTemplate, connection: Connection, runtime: Runtime) -> None:
        """Set `appenders`, if lines need no more than they may."""
        is_split = self.own[2] is not NO_SHAPE
        is_counted = self.shows_size and template.most is not None
        if self.is_stable and self._templates is not None and is_split and not is_counted:
            renders = [filled.line for filled in self._filled_for(template, connection, self._templates)]
            appenders = [runtime.log_appender(sink) for sink in self._sinks]
            self.appenders = tuple(zip(appenders, renders, strict=True))
            self.is_quick = True
            self.own_time = b""

    def append(self, head: SplitHead, client: bytes, time: bytes) -> None:
        """Write the lines of a hit by *head* of *client* at *time*, as logs show it.

        For entries that are ready: their logs were written to in this tick (`Runtime.log_appender`).
        """
        if head is self.own:
            if time is not self.own_time or client != self.own_client:
                self.render_own(client, time)
            for append, line in self.own_lines:
                append(line)
        else:
            for append, render in self.appenders:
                append(render(head, client, time))

    def render_own(self, client: bytes, time: bytes) -> None:
        """Set `own_lines` for hits of *client* at *time*."""
        lines = [render(self.own, client, time) for _append, render in self.appenders]
        self.own_lines = tuple(zip([append for append, _render in self.appenders], lines, strict=True))
        self._written_lines = tuple(zip(self._sinks, lines, strict=True))
        self.own_time = time
        self.own_client = client

    def _fill_own(self, view: CachedRequestView, time: bytes) -> None:
        """Set the lines of `own` for `write` alone, where templates cannot render them."""
        self.own_lines = ()
        self._written_lines = tuple(
            [(sink, fill(view)) for sink, fill in zip(self._sinks, self._fills, strict=True)]
        )
        self.own_time = time
        self.own_client = view.connection.client_text

    def write(
        self,
        head: SplitHead,
        template: ResponseTemplate,
        connection: Connection,
        now: float,
        count: int | None = None,
        more: int = 0,
    ) -> None:
        """Write the lines of a hit by *head*; *count*: body bytes (None: all); *more*: `Response.on_sent`."""
        engine = self.request.engine
        write = engine.runtime.write_log
        has_all_bytes = not more and (count is None or count == template.size)
        if self.is_stable and has_all_bytes and not connection.useragent_ip and not connection.notes:
            client = connection.client_text
            if head is self.own and (template.most is None or not self.shows_size):
                time = engine.log_time(now)
                if time is not self.own_time or client != self.own_client:
                    if self.is_quick:
                        self.render_own(client, time)
                    else:
                        self._fill_own(CachedRequestView(self, template, connection, now, self.head), time)
                for sink, line in self._written_lines:
                    write(sink, line)
                return
            if self._templates is not None and head[2] is not NO_SHAPE:
                time = engine.log_time(now)
                filled = self._filled_for(template, connection, self._templates)
                for sink, each in zip(self._sinks, filled, strict=True):
                    write(sink, each.line(head, client, time))
                return
        shown = self.head if head[0] == self.own[0] else RawHead(head[0])
        view = CachedRequestView(self, template, connection, now, shown)
        if count is not None:
            view.bytes_sent = count
        view.head_bytes += more
        for event in self.events:
            engine.error_log.about_request(view, event)  # type: ignore[arg-type]  # reads like a request
        for sink, fill in zip(self._sinks, self._fills, strict=True):
            write(sink, fill(view))

    def _filled_for(
        self, template: ResponseTemplate, connection: Connection, templates: tuple[LogTemplate, ...]
    ) -> list[FilledTemplate]:
        """Return the templates of the lines of a response on *connection*."""
        digits = template.digits(connection.served) if self.shows_size else 0
        filled = self._filled.get(digits)
        if filled is None:
            view = CachedRequestView(self, template, connection, 0.0, self.head)
            filled = [FilledTemplate(outline, view) for outline in templates]
            self._filled[digits] = filled
        return filled
