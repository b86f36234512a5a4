"""The engine: one configuration that answers requests.  It owns no socket.

`respond` gives an answer at once where nothing has to be waited for, else an awaitable of one; what was kept is found in `kept`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.configuration import Configuration
from whimbrel.config.core import CoreServer
from whimbrel.config.model import Section, Server
from whimbrel.http.asked import AskedHeaders
from whimbrel.http.chunked import BodyError
from whimbrel.http.dates import format_http
from whimbrel.http.head import Head
from whimbrel.registry.phases import DECLINED, DONE, OK
from whimbrel.registry.phases import Answer as Said
from whimbrel.request import identity, redirect
from whimbrel.request.answer import DATE_BYTES, Answer
from whimbrel.request.body import RequestBody, level_of
from whimbrel.request.books import KeptAnswers
from whimbrel.request.die import body_failure, die, die_at_once, send_error
from whimbrel.request.drive import drive
from whimbrel.request.error_log import ErrorLog
from whimbrel.request.files import Contents, Looks
from whimbrel.request.finish import finish, last_of
from whimbrel.request.forms import Form, finish_at_once, refused_at_once
from whimbrel.request.htaccess import Htaccess
from whimbrel.request.kept import Kept, repeat
from whimbrel.request.line_cache import LineCache
from whimbrel.request.log import LogLine, enabled
from whimbrel.request.plan import World
from whimbrel.request.process import invoke_handler, process, run
from whimbrel.request.raw_head import RawHead, Shown
from whimbrel.request.record import Connection, Request
from whimbrel.request.routing import received
from whimbrel.request.turns import Turns

if TYPE_CHECKING:
    from whimbrel.request.runtime import Runtime


MAX_LOG_LINES: Final = 256  # lines of the error log that one request remembers; with more its response is not cached
MOST_MARKS: Final = 16384  # request lines that are remembered to have come once


def _merge_trailers(r: Request) -> None:
    """MergeTrailers: the fields behind a body join those of the head, when it is too late for anything but the log."""
    if r.body_in.trailers is not None and r.server_conf(CoreServer).merge_trailers:
        r.headers_in = r.headers_in.copy()
        for name, value in r.body_in.trailers:
            r.headers_in.merge(name, value)


class Engine:
    """Answers requests under one configuration; any number of engines may run side by side."""

    def __init__(self, configuration: Configuration, runtime: Runtime) -> None:
        self.configuration, self.runtime = configuration, runtime
        self.world = World(configuration)
        self.methods = configuration.methods
        self.main = configuration.main
        self.htaccess = Htaccess(configuration, self.world)
        self.kept = KeptAnswers()
        self._directories: dict[int, tuple[list[Section], list[Section]]] = {}
        self.error_log = ErrorLog(configuration, runtime)
        self._asked_once: set[int] = set()
        self.contents, self.looks = Contents(), Looks()
        self.turns = Turns()
        self.pages: dict[tuple[int, str | None, str, int, str], bytes] = {}  # error pages that tell nothing of the request
        self.shown: Shown = {}  # see raw_head.py
        self.log_lines = LineCache()
        self.good_fields: set[tuple[str, str]] = set()  # fields of answers that are known to be in order (see finish.py)
        self.forms: dict[tuple[Any, ...], Form] = {}  # heads of answers (see forms.py)
        self.first_lines: dict[tuple[int, bool], bytes] = {}  # and the beginnings of heads
        self._server_field: str | None = None
        self._writers: dict[int, tuple[tuple[Any, ...], frozenset[str]]] = {}

    # answering ------------------------------------------------------------------------------------------------------------------------------------
    def repeated(self, kept: Kept, connection: Connection, head: RawHead | None = None) -> None:
        """Write the log lines of one more use of a kept answer: for *head*, or for one that is its own to the byte."""
        repeat(kept, connection, self.runtime, self.runtime.now(), self.error_log.about_request, head)

    def respond(self, connection: Connection, head: Head, body: RequestBody) -> Answer | Awaitable[Answer]:
        """The answer to one request; never raises for anything that a client sent."""
        return drive(self.answer(connection, head, body))

    async def answer(self, connection: Connection, head: Head, body: RequestBody) -> Answer:
        """`respond` as a coroutine."""
        r, status = received(self, connection, head)
        r.body_in = body
        if status == OK:
            try:
                ready = r.plan.post_read_request
                if ready.answer != OK:
                    status = await run(r, ready)
                if status in (OK, DECLINED):
                    quick = r.plan.quick_handler
                    status = await run(r, quick) if quick.answer is None else quick.answer
                    if status == DECLINED:
                        status = await process(r)
                        if status == OK:
                            status = await invoke_handler(r)
            except BodyError as problem:
                status = self._unread(r, problem)
            if status in (OK, DONE):
                pass
            elif (body.length != 0 or body.failure is not None) and (failure := await body_failure(r, status)) is not None:
                r.status = self._unread(r, failure)
                await send_error(r, status)
            else:
                answer = refused_at_once(r, status)
                if answer is not None:
                    return answer
                if not die_at_once(r, status):
                    await die(r, status)
        elif (body.length != 0 or body.failure is not None) and (failure := await body_failure(r, status)) is not None:
            r.status = self._unread(r, failure)
            await send_error(r, status)
        elif head.error is not None and head.error.additional:
            r.status = status
            await send_error(r, head.error.additional)
        else:
            await die(r, status)
        if r.next is not None:
            r = last_of(r)
        answer = finish_at_once(r)
        return await finish(r) if answer is None else answer

    def _unread(self, r: Request, problem: BodyError) -> Said:
        """Log why the body of *r* could not be read; the status to answer with."""
        r.body_in.refused(problem)
        reason = problem.reason
        level = level_of(reason, version22=self.configuration.dialect.reasons_22)
        if level:
            r.log(level, reason.text, code=reason.code, cause=reason.cause)
        return problem.status

    def unanswered(self, connection: Connection) -> None:
        """A client has sent only a piece of a request line: it gets no answer, and 2.4 logs a 408 where it was the connection's first."""
        if connection.served or self.configuration.dialect.reasons_22:
            return
        r = Request(self, connection, self.main, self.world.root(self.main))
        r.time, r.status, r.the_request = self.runtime.now(), 408, None
        for fn, _waits in r.plan.log_transaction.hooks:
            fn(r)

    def finished(self, r: Request, count: int, answer: Answer, more: int = 0) -> None:
        """The answer to *r* is out (see `Answer.sent`): log it, and keep it when that may be."""
        first = r
        while first.prev is not None:
            first = first.prev
        first.head_bytes = r.head_bytes = (len(answer.before) + DATE_BYTES + len(answer.after) if answer.before else 0) + more
        if r.assbackwards and r.proto >= (1, 0):  # head and body are the script's own (nph-): nobody measures the body
            first.head_bytes, count = count, 0
        first.bytes_sent = r.bytes_sent = count
        fields: Any = first.headers_in
        head, files = first.head, r.files
        again = not (files.outside or files.own) and head is not None and head.raw and self._comes_again(first)
        asked, query = set(fields.asked) if again and fields.__class__ is AskedHeaders else None, files.query
        if first.body_in.trailers is not None:
            _merge_trailers(first)
        for fn, _waits in first.plan.log_transaction.hooks:
            fn(first)
        if again and not files.outside:
            if asked is not None:
                fields.asked = asked  # what only the log wanted to know did not make the answer
            files.query, files.own = query, False
            self.kept.offer(head, answer, *self._log_writers(first.server))

    def _comes_again(self, r: Request) -> bool:
        """Whether the answer to *r* may be asked for again.

        One that depends on its query, or an error, has to be asked for a second time to be thought so: most of those that never come again are of
        these kinds, and to keep an answer costs more than a tenth of making it.
        """
        if r.status == 200 and (r.unasked_args is None or not r.files.query):
            return True
        mark = hash(r.unasked_line if r.files.query else (r.uri, r.hostname))
        if mark in self._asked_once:
            return True
        if len(self._asked_once) >= MOST_MARKS:
            self._asked_once.clear()
        self._asked_once.add(mark)
        return False

    def _log_writers(self, server: Server) -> tuple[tuple[Any, ...], frozenset[str]]:
        """The access logs of a server, and the request fields, in lower case, that they tell."""
        found = self._writers.get(id(server))
        if found is None:
            ask = self.configuration.provider("log", "writers")
            writers = tuple(ask(server)) if ask is not None else ()
            found = self._writers[id(server)] = (writers, frozenset(name for writer in writers for name in writer.fields))
        return found

    # sections -------------------------------------------------------------------------------------------------------------------------------------
    def plain_directories(self, server: Server) -> list[Section]:
        """The <Directory> sections without regular expression, in httpd's order."""
        return self._sorted(server)[0]

    def regex_directories(self, server: Server) -> list[Section]:
        """The <Directory> sections with one: by the slashes of the expression, then in file order, as httpd sorts them."""
        return self._sorted(server)[1]

    def _sorted(self, server: Server) -> tuple[list[Section], list[Section]]:
        found = self._directories.get(id(server))
        if found is None:
            plain = sorted((s for s in server.directories if s.regex is None), key=lambda s: s.components)
            regexes = sorted((s for s in server.directories if s.regex is not None), key=lambda s: s.pattern.count("/"))
            found = self._directories[id(server)] = (plain, regexes)
        return found

    # sub-requests and redirects -------------------------------------------------------------------------------------------------------------------
    async def lookup_uri(self, r: Request, target: str, method: str = "GET", *, with_query: bool = False) -> Request:
        """See redirect.lookup_uri."""
        return await redirect.lookup_uri(r, target, method, with_query=with_query)

    async def lookup_file(self, r: Request, path: str) -> Request:
        """See redirect.lookup_file."""
        return await redirect.lookup_file(r, path)

    async def lookup_entry(self, r: Request, name: str) -> Request:
        """See redirect.lookup_entry."""
        return await redirect.lookup_entry(r, name)

    async def run_sub(self, sub: Request) -> Said:
        """See redirect.run_sub."""
        return await redirect.run_sub(sub)

    def fast_redirect(self, sub: Request, r: Request) -> None:
        """See redirect.fast_redirect."""
        redirect.fast_redirect(sub, r)

    async def internal_redirect(self, target: str, r: Request) -> Said:
        """See redirect.internal_redirect."""
        return await redirect.internal_redirect(r, target)

    # what the server calls itself -----------------------------------------------------------------------------------------------------------------
    def construct_url(self, r: Request, uri: str) -> str:
        """The absolute URL of *uri* on this server."""
        return identity.construct_url(r, uri)

    def signature(self, r: Request) -> str:
        """The last lines of a generated page."""
        return identity.signature(r)

    def server_field(self, r: Request) -> str:
        """The value of the Server field."""
        if self._server_field is None:
            self._server_field = identity.product(r)
        return self._server_field

    def http_date(self, seconds: float) -> str:
        """An HTTP date."""
        return format_http(int(seconds))

    # logs -----------------------------------------------------------------------------------------------------------------------------------------
    def log_request(self, r: Request, line: LogLine) -> None:
        """Write an error-log line about a request, if LogLevel wants it."""
        if enabled(r.plan.levels, line.module, line.level):
            if not line.source:
                line = line._replace(source=source_of(line.module, line.code, line.text))
            if len(r.log_lines) < MAX_LOG_LINES:
                r.log_lines.append(line)
            else:
                r.outside()
            self.error_log.about_request(r, line)

    def log_connection(self, connection: Connection, server: Server, line: LogLine) -> None:
        """Write an error-log line about a connection, if the server's LogLevel wants it."""
        if enabled(server.conf(CoreServer).log_level, line.module, line.level):
            if not line.source:
                line = line._replace(source=source_of(line.module, line.code, line.text))
            self.error_log.about_connection(connection, server, line)
