"""The engine: one configuration that answers requests.  It owns no socket.

`respond` returns a response, or an awaitable of one where the engine has to wait; cached responses are in
`response_cache`.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.machine_failures import FAILURES, cause_of, place_of
from whimbrel.base.sync_waits import SyncWaits
from whimbrel.catalogue.log_sources import source_of
from whimbrel.config.configuration import Configuration
from whimbrel.config.copied_paths import IN_PLACE
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Section, Server, unique_by
from whimbrel.engine import identity
from whimbrel.engine.abandon import close_sources
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.connection import Connection
from whimbrel.engine.coroutines import Suspended, drive, run_until_suspended
from whimbrel.engine.deps.files import Dependencies, FileCache, TickStatCache
from whimbrel.engine.input.body import RequestBody, level_of
from whimbrel.engine.log.error_log import ErrorLog
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.lookahead import TooManyLookups
from whimbrel.engine.output.head_cache import MAX_TEMPLATES, HeadTemplate
from whimbrel.engine.output.headers import final_request, finalize
from whimbrel.engine.pipeline import redirect, subrequest
from whimbrel.engine.pipeline.error import MAX_PAGES, body_failure, die, is_redirected, send_error
from whimbrel.engine.pipeline.handler import invoke_handler
from whimbrel.engine.pipeline.process import process
from whimbrel.engine.pipeline.read import read_request
from whimbrel.engine.plan.plan_cache import PlanCache
from whimbrel.engine.prepared.prepared_cache import RECORDED, PreparedCache
from whimbrel.engine.relay.cache import RelayCache, RelayOffer
from whimbrel.engine.request import Request
from whimbrel.engine.response import DATE_BYTES, Response
from whimbrel.engine.time_slices import Turns
from whimbrel.engine.walk.htaccess import HtaccessResolver
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.dates import format_http, log_time
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head import Head
from whimbrel.registry.phases import DECLINED, DONE, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.runtime import Runtime


MAX_LOG_LINES: Final = (
    256  # lines of the error log that one request remembers; with more its response is not cached
)
GENERAL_PATH: Final = "WHIMBREL_GENERAL_PATH"  # environment variable: 1 switches specialized paths off
MAX_SEEN: Final = 16384  # request lines that have occurred once


def _merge_trailers(r: Request) -> None:
    """MergeTrailers: merge the trailer fields into those of the head; only logs read them at this point."""
    if r.body_in.trailers is not None and r.server_conf(CoreServerConfig).merge_trailers:
        r.headers_in = r.headers_in.copy()
        for name, value in r.body_in.trailers:
            r.headers_in.merge(name, value)


def _accounted(_result: None, problem: BaseException | None) -> None:
    if problem is not None:
        raise problem


class Engine:
    """Answers requests under one configuration; any number of engines may run side by side."""

    def __init__(self, configuration: Configuration, runtime: Runtime) -> None:
        self.configuration = configuration
        self.runtime = runtime
        self.plans = PlanCache(configuration)
        self.methods = configuration.methods
        self.main = configuration.main
        self.htaccess = HtaccessResolver(configuration, self.plans)
        self.is_general_only = os.environ.get(GENERAL_PATH) == "1"
        self.prepared = PreparedCache()
        self._directories: dict[int, tuple[list[Section], list[Section]]] = {}
        self.error_log = ErrorLog(configuration, runtime)
        self._seen_once = Doorkeeper(MAX_SEEN)
        self.file_cache = FileCache()
        self.stat_cache = TickStatCache()
        self.dependencies: Callable[[TickStatCache], Dependencies] = Dependencies
        if configuration.disk is not IN_PLACE:
            from whimbrel.engine.deps.copied_files import CopiedDependencies  # no server runs so

            self.dependencies = partial(CopiedDependencies, configuration.disk)
            self.is_general_only = True  # the other paths look at files by the names in requests
        servers = unique_by(configuration.servers(), CoreServerConfig)
        announces = any(server.value(CoreServerConfig, "protocols") for server in servers)
        self.response_cache = ResponseCache(self.stat_cache, has_first=announces)
        self.shapes = self.response_cache.shapes
        self.relays = RelayCache(self.shapes, self.response_cache.specs)
        self.turns = Turns()
        self.sync_waits = SyncWaits(runtime.search)
        self.error_pages: BoundedDict[tuple[int, str | None, str, int, str], bytes] = BoundedDict(MAX_PAGES)
        self.validated_fields: set[tuple[str, str]] = (
            set()
        )  # response fields that passed validation (see output/headers.py)
        self.head_templates: BoundedDict[tuple[Any, ...], HeadTemplate] = BoundedDict(MAX_TEMPLATES)
        self.status_lines: dict[tuple[int, bool], bytes] = {}  # and the beginnings of heads
        self.worker_state: dict[str, Any] = {}
        self._server_field: str | None = None
        self._access_logs: dict[int, tuple[Any, ...]] = {}
        self._waiting_logs: dict[int, bool] = {}
        self._log_second = -1
        self._log_time = b""

    # answering ------------------------------------------------------------------------------------
    def respond(
        self, connection: Connection, head: Head, body: RequestBody
    ) -> Response | Awaitable[Response]:
        """Return the response to one request; no input of a client makes it raise."""
        return run_until_suspended(self.answer(connection, head, body))

    def answer(self, connection: Connection, head: Head, body: RequestBody) -> Coroutine[Any, Any, Response]:
        """`respond` as a coroutine."""
        return self.sync_waits.run(self._answer(connection, head, body))

    async def _answer(self, connection: Connection, head: Head, body: RequestBody) -> Response:
        r, status = read_request(self, connection, head)
        r.body_in, connection.request = body, r
        is_unread = False
        if status == OK:
            try:
                if not self.is_general_only and self.prepared.apply(r):
                    status = await invoke_handler(r)
                else:
                    outcome = r.plan.post_read_request.run(r)
                    status = outcome if type(outcome) is int else await outcome
                    if status in (OK, DECLINED):
                        status = await self._process(r)
                    else:
                        is_unread = True
                        r.set_uncacheable()
            except BodyError as problem:
                status = self._log_unreadable_body(r, problem)
            except TooManyLookups as problem:
                status = problem.status
            except FAILURES as problem:
                status = await self._log_machine_failure(r, problem)
                r = final_request(r)
        if status not in (OK, DONE):
            try:
                await self._refuse(r, status)
            except TooManyLookups as problem:
                send_error(r, problem.status)
        if r.next is not None:
            r = final_request(r)
        try:
            response = await finalize(r)
        except FAILURES as problem:
            r.status = await self._log_machine_failure(r, problem)
            send_error(r, 0)
            response = await finalize(r)
        if is_unread and not connection.is_http2:
            # ap_read_request returns no request that post_read_request refuses: the connection ends, although
            # the fields of the response may say otherwise
            response.close = True
        return response

    async def _process(self, r: Request) -> HookStatus:
        """Run the phases after post_read_request, up to the handler."""
        outcome = r.plan.quick_handler.run(r)
        status = outcome if type(outcome) is int else await outcome
        if status == DECLINED:
            status = await process(r)
            if status == OK:
                if not self.is_general_only:
                    self.prepared.offer(r)
                status = await invoke_handler(r)
        return status

    async def _refuse(self, r: Request, status: HookStatus) -> None:
        """Set the response for an error or redirect *status*; an unreadable request body has its own."""
        body = r.body_in
        error = r.head.error
        if (
            (body.length != 0 or body.failure is not None)
            and not is_redirected(r, status)
            and (failure := await body_failure(r, status)) is not None
        ):
            r.status = self._log_unreadable_body(r, failure)
            send_error(r, status)
        elif error is not None and error.additional:
            r.status = status
            send_error(r, error.additional)
        else:
            waiting = die(r, status)
            if waiting is not None:
                try:
                    await waiting
                except BodyError as problem:  # read for the ErrorDocument
                    last = final_request(r)
                    self._log_unreadable_body(last, problem)
                    last.status = status
                    send_error(last, status)

    async def _log_machine_failure(self, r: Request, problem: BaseException) -> HookStatus:
        """Log that the machine has failed *r* and release its body; return the status of the response.

        Any other exception is raised again.
        """
        cause = cause_of(problem)
        if not cause:
            raise problem
        await close_sources(r.connection)
        r.set_uncacheable()
        r.log("error", f"request failed in {place_of(problem)}", cause=cause)
        return 500

    def _log_unreadable_body(self, r: Request, problem: BodyError) -> HookStatus:
        """Log why the body of *r* could not be read; return the status of the response."""
        r.body_in.refused(problem)
        if not self.configuration.dialect.wire_22:
            r.err_headers_out = Headers()  # httpd begins the error response twice
        reason = problem.reason
        level = level_of(reason, version22=self.configuration.dialect.wire_22)
        if level:
            r.log(level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
        return problem.status

    def log_timeout(self, connection: Connection, received: int) -> None:
        """A client has sent only *received* bytes of a request line: it gets no response, and 2.4 logs a 408
        where it was the connection's first.
        """
        if connection.served or self.configuration.dialect.wire_22:
            return
        r = Request(self, connection, self.main, self.plans.root(self.main))
        r.time = self.runtime.now()
        r.status = 408
        r.the_request = None
        r.method = "-"
        r.uri = "-"
        r.protocol = "HTTP/1.0"
        r.body_in = RequestBody(0)
        r.body_in.received = received
        connection.peeked = min(connection.peeked[0], received), 0
        r.headers_out.set("Connection", "close")
        r.plan.log_transaction.run(r)

    def on_response_sent(self, r: Request, count: int, response: Response, more: int = 0) -> None:
        """Log the response to *r* after it was sent (`Response.on_sent`); cache it if it is cacheable."""
        if self._may_logs_wait(r.server):
            from asyncio import _get_running_loop  # slow import that -t must not pay

            if (loop := _get_running_loop()) is not None:
                work = self.sync_waits.run(self._account_later(r, count, response, more))
                waiting = run_until_suspended(work)
                if isinstance(waiting, Suspended):
                    drive(waiting, loop, _accounted)
                return
        self._account_sent(r, count, response, more)

    async def _account_later(self, r: Request, count: int, response: Response, more: int) -> None:
        self._account_sent(r, count, response, more)

    def _account_sent(self, r: Request, count: int, response: Response, more: int) -> None:
        first = r
        while first.prev is not None:
            first = first.prev
        first.head_bytes = (
            len(response.head_prefix) + DATE_BYTES + len(response.head_suffix) if response.head_prefix else 0
        ) + more
        r.head_bytes = first.head_bytes
        if r.connection.interim_bytes:
            first.head_bytes = r.head_bytes + r.connection.interim_bytes
            r.head_bytes = first.head_bytes
            r.connection.interim_bytes = 0
        if r.assbackwards and r.proto >= (
            1,
            0,
        ):  # head and body are the script's own (nph-), so the body is not counted apart
            first.head_bytes, count = count, 0
        if r.bytes_sent:  # of bodies that were not sent
            first.head_bytes = r.head_bytes - r.bytes_sent
            r.head_bytes = first.head_bytes
            count += r.bytes_sent
        first.bytes_sent = count
        r.bytes_sent = count
        if r.body_in.is_filtered:
            r.body_in.close()
        fields: Any = first.headers_in
        head = first.head
        files = r.deps
        if first.preparation is RECORDED and (files.is_uncacheable or first.method_number != 0):
            self.prepared.note(first)
        is_stored = False
        may_recur = False
        if not (
            self.is_general_only
            or files.is_uncacheable
            or files.is_per_request
            or head is None
            or not head.raw
        ):
            is_stored = self._admit(first)
            line = head.line
            may_recur = is_stored or (
                line is not None
                and self.response_cache.index_of(r.connection).specialized.may_learn(to_bytes(line))
            )
        accessed = set(fields.accessed) if may_recur and fields.__class__ is TrackedHeaders else None
        query = files.on_query
        if first.body_in.trailers is not None:
            _merge_trailers(first)
        if first.relay.__class__ is RelayOffer and r is first and not self.is_general_only:
            self._log_relayed(r, response)
            return
        first.plan.log_transaction.run(first)
        if may_recur and not files.is_uncacheable:
            if accessed is not None:
                fields.accessed = accessed  # what only the log wanted to know did not make the response
            files.on_query = query
            files.is_per_request = False
            writers = self._log_writers(first.server)
            self.response_cache.store(head, response, writers, is_admitted=is_stored)

    def _log_relayed(self, r: Request, response: Response) -> None:
        """Log the response to *r*; learn how equal requests are relayed if the logs allow it."""
        r.deps.is_uncacheable = False  # which the handler has set
        fields: Any = r.headers_in
        accessed = set(fields.accessed) if fields.__class__ is TrackedHeaders else None
        r.plan.log_transaction.run(r)
        if accessed is not None:
            fields.accessed = accessed  # what only the log wanted to know did not make the response
        if not r.deps.is_uncacheable:
            self.relays.learn(r, response, self._log_writers(r.server))
        r.deps.is_uncacheable = True

    def _admit(self, r: Request) -> bool:
        """Return True if the response to *r* is admitted to the cache.

        A response that depends on its query, and an error, are admitted on their second occurrence. Most of
        them occur once, and storing one costs more than a tenth of building it.
        """
        if r.status == 200 and (r.untracked_args is None or not r.deps.on_query):
            return True
        return self._seen_once.has_seen(hash(r.untracked_line if r.deps.on_query else (r.uri, r.hostname)))

    def log_time(self, now: float) -> bytes:
        """Return the text of %t for *now*; one for each second."""
        if int(now) != self._log_second:
            self._log_second = int(now)
            self._log_time = log_time(self._log_second).encode()
        return self._log_time

    def _log_writers(self, server: Server) -> tuple[Any, ...]:
        """Return the access logs of a server."""
        writers = self._access_logs.get(id(server))
        if writers is None:
            provider = self.configuration.provider("log", "writers")
            writers = tuple(provider(server)) if provider is not None else ()
            self._access_logs[id(server)] = writers
        return writers

    def _may_logs_wait(self, server: Server) -> bool:
        """Return True if a condition of a log of *server* may wait."""
        known = self._waiting_logs.get(id(server))
        if known is None:
            known = any(writer.may_wait for writer in self._log_writers(server))
            self._waiting_logs[id(server)] = known
        return known

    # sections -------------------------------------------------------------------------------------
    def plain_directories(self, server: Server) -> list[Section]:
        """The <Directory> sections without regular expression, in httpd's order."""
        return self._sorted(server)[0]

    def regex_directories(self, server: Server) -> list[Section]:
        """The <Directory> sections with one: by slashes of the expression, then in file order."""
        return self._sorted(server)[1]

    def _sorted(self, server: Server) -> tuple[list[Section], list[Section]]:
        entry = self._directories.get(id(server))
        if entry is None:
            plain = sorted((s for s in server.directories if s.regex is None), key=lambda s: s.components)
            regexes = sorted(
                (s for s in server.directories if s.regex is not None), key=lambda s: s.pattern.count("/")
            )
            entry = (plain, regexes)
            self._directories[id(server)] = entry
        return entry

    # sub-requests and redirects -------------------------------------------------------------------
    async def lookup_uri(
        self, r: Request, target: str, method: str = "GET", *, with_query: bool = False
    ) -> Request:
        return await subrequest.lookup_uri(r, target, method, with_query=with_query)

    async def lookup_file(self, r: Request, path: str) -> Request:
        return await subrequest.lookup_file(r, path)

    async def lookup_entry(self, r: Request, name: str, *, with_query: bool = False) -> Request:
        return await subrequest.lookup_dirent(r, name, with_query=with_query)

    async def run_sub(self, sub: Request) -> HookStatus:
        return await subrequest.run_sub(sub)

    def fast_redirect(self, sub: Request, r: Request, *, keeps_filters: bool = False) -> None:
        subrequest.fast_redirect(sub, r, keeps_filters=keeps_filters)

    async def internal_redirect(self, target: str, r: Request) -> HookStatus:
        return await redirect.internal_redirect(r, target)

    # what the server calls itself -----------------------------------------------------------------
    def construct_url(self, r: Request, uri: str) -> str:
        """Return the absolute URL of *uri* on this server."""
        return identity.construct_url(r, uri)

    def signature(self, r: Request, prefix: str = "<hr>\n") -> str:
        """Return the last lines of a generated page, after *prefix*."""
        return identity.signature(r, prefix)

    def server_field(self, r: Request) -> str:
        """Return the value of the Server field."""
        if self._server_field is None:
            self._server_field = identity.server_tokens(r)
        return self._server_field

    def http_date(self, seconds: float) -> str:
        """An HTTP date."""
        return format_http(int(seconds))

    # logs -----------------------------------------------------------------------------------------
    def log_request(self, r: Request, line: LogLine) -> None:
        """Write an error-log line about a request, if LogLevel wants it."""
        if enabled(r.plan.levels, line.module, line.level):
            if not line.source:
                line = replace(line, source=source_of(line.module, line.code, line.text))
            if len(r.log_lines) < MAX_LOG_LINES:
                r.log_lines.append(line)
            else:
                r.set_uncacheable()
            self.error_log.about_request(r, line)

    def log_connection(self, connection: Connection, server: Server, line: LogLine) -> None:
        """Write an error-log line about a connection, if the server's LogLevel wants it."""
        if enabled(server.config(CoreServerConfig).log_level, line.module, line.level):
            if not line.source:
                line = replace(line, source=source_of(line.module, line.code, line.text))
            self.error_log.about_connection(connection, server, line)
