"""The request as the phases see it: httpd's request_rec."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from whimbrel.engine.body import Part, release
from whimbrel.engine.connection import Connection as Connection
from whimbrel.engine.connection import Takeover
from whimbrel.engine.deps.files import Dependencies
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.log.error_log_line import DEFAULT_LEVEL, LEVELS, LogLine
from whimbrel.http.semantics.headers import Headers

if TYPE_CHECKING:
    from whimbrel.base.bounded_dict import BoundedDict
    from whimbrel.base.sync_waits import SyncWaits
    from whimbrel.config.configuration import Configuration
    from whimbrel.config.model import Section, Server
    from whimbrel.engine.deps.files import FileCache, TickStatCache
    from whimbrel.engine.env import Hidden
    from whimbrel.engine.input.filter import InputFilter
    from whimbrel.engine.log.error_log import ErrorLog
    from whimbrel.engine.output.filter import OutputFilter
    from whimbrel.engine.plan.compiled_phase import CompiledPhase
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.plan.plan_cache import PlanCache
    from whimbrel.engine.runtime import Runtime
    from whimbrel.engine.time_slices import Turns
    from whimbrel.http.syntax.head_shape import HeadShapes
    from whimbrel.registry.methods import Methods
    from whimbrel.registry.phases import HookStatus

C = TypeVar("C")


class RequestEngine(Protocol):
    """The engine that a request belongs to (engine.Engine), as phases and modules use it.

    Attributes:
        configuration, runtime: what the engine was built from.
        main: the main server.
        is_general_only: True if nothing is answered from caches (WHIMBREL_GENERAL_PATH).
        methods: numbers of the known methods.
        plans: merged configurations.
        htaccess: the .htaccess files (walk.htaccess.HtaccessResolver).
        error_log: the error logs of all servers.
        file_cache, stat_cache: contents of small files; results of stat within one tick.
        dependencies: returns the object that records what one request learns from files.
        shapes: shapes of request heads.
        turns: queue of long work.
        sync_waits: runs coroutines whose synchronous code may wait.
        error_pages, status_lines: canned pages and beginnings of heads, once built.
        head_templates: finished heads (output.head_cache).
        validated_fields: response fields that passed validation.
        worker_state: objects that modules keep in one worker process (pools of connections ...), by key.
    """

    configuration: Configuration
    runtime: Runtime
    main: Server
    is_general_only: bool
    methods: Methods
    plans: PlanCache
    htaccess: Any
    error_log: ErrorLog
    file_cache: FileCache
    stat_cache: TickStatCache
    dependencies: Callable[[TickStatCache], Dependencies]
    shapes: HeadShapes
    turns: Turns
    sync_waits: SyncWaits
    error_pages: BoundedDict[tuple[int, str | None, str, int, str], bytes]
    status_lines: dict[tuple[int, bool], bytes]
    head_templates: BoundedDict[tuple[Any, ...], Any]
    validated_fields: set[tuple[str, str]]
    worker_state: dict[str, Any]

    def plain_directories(self, server: Server) -> list[Section]:
        """Return the <Directory> sections without regular expression, in httpd's order."""

    def regex_directories(self, server: Server) -> list[Section]:
        """Return the <Directory> sections with a regular expression, in httpd's order."""

    async def lookup_uri(
        self, r: Request, target: str, method: str = "GET", *, with_query: bool = False
    ) -> Request:
        """See pipeline.subrequest.lookup_uri."""

    async def lookup_file(self, r: Request, path: str) -> Request:
        """See pipeline.subrequest.lookup_file."""

    async def lookup_entry(self, r: Request, name: str, *, with_query: bool = False) -> Request:
        """See pipeline.subrequest.lookup_dirent."""

    async def run_sub(self, sub: Request) -> HookStatus:
        """See pipeline.subrequest.run_sub."""

    def fast_redirect(self, sub: Request, r: Request, *, keeps_filters: bool = False) -> None:
        """See pipeline.subrequest.fast_redirect."""

    async def internal_redirect(self, target: str, r: Request) -> HookStatus:
        """See pipeline.redirect.internal_redirect."""

    def construct_url(self, r: Request, uri: str) -> str:
        """Return the absolute URL of *uri* on this server."""

    def signature(self, r: Request, prefix: str = "<hr>\n") -> str:
        """Return the last lines of a generated page, after *prefix*."""

    def server_field(self, r: Request) -> str:
        """Return the value of the Server field."""

    def http_date(self, seconds: float) -> str:
        """Return an HTTP date."""

    def log_time(self, now: float) -> bytes:
        """Return the text of %t for *now*."""

    def log_request(self, r: Request, line: LogLine) -> None:
        """Write an error-log line about *r* if LogLevel admits it."""

    def log_connection(self, connection: Connection, server: Server, line: LogLine) -> None:
        """Write an error-log line about *connection* if the server's LogLevel admits it."""

    def on_response_sent(self, r: Request, count: int, response: Any, more: int = 0) -> None:
        """Log a response that was sent, and cache it if it is cacheable."""


def worker_object(engine: RequestEngine, key: str, make: Callable[[], C]) -> C:
    """Return the object under *key* of `worker_state`; *make* returns it at the first use.

    Threads that come at the same time all get the object of one of them.
    """
    found: C | None = engine.worker_state.get(key)
    if found is None:
        found = engine.worker_state.setdefault(key, make())
    return found


class Request:
    """One request, a sub-request, or the target of an internal redirect.

    Texts have one character per byte.

    Attributes:
        uri: the decoded path; `args`: the query without ``?``, or None; `unparsed_uri`: the target as sent.
        filename: the absolute path; `finfo`: its stat result or None; `path_info`: what follows the file
            in the URL.
        status: the status of the response.
        proxy: 0, FORWARD_PROXY or REVERSE_PROXY.
        headers_out: fields of successful responses; `err_headers_out`: fields of all responses.
        main: the request that a sub-request belongs to; `prev`: the request that was redirected here;
            `next`: the target of the redirect.
    """

    __slots__ = (
        "allowed",
        "is_committed",
        "assbackwards",
        "auth_type",
        "body",
        "body_in",
        "bytes_sent",
        "canonical_filename",
        "chunked",
        "close",
        "connection",
        "content_encodings",
        "content_languages",
        "content_type",
        "context",
        "document_root",
        "location_walk_uri",
        "engine",
        "env",
        "err_headers_out",
        "expecting_100",
        "filename",
        "deps",
        "handled_by",
        "handler",
        "head",
        "head_bytes",
        "header_only",
        "headers_in",
        "headers_out",
        "hidden_env",
        "hostname",
        "finfo",
        "input_filters",
        "keepalive_max",
        "log_id",
        "log_lines",
        "main",
        "method",
        "method_number",
        "merges",
        "mtime",
        "next",
        "no_cache",
        "no_local_copy",
        "notes",
        "output_filters",
        "path_info",
        "plan",
        "port",
        "preparation",
        "relay",
        "prev",
        "proto",
        "protocol",
        "proxy",
        "request_config",
        "body_factory",
        "server",
        "status",
        "status_line",
        "takeover",
        "time",
        "untracked_args",
        "untracked_line",
        "untracked_target",
        "untrusted_type",
        "uri",
        "used_path_info",
        "user",
        "vlist_validator",
        "directory_walk",
    )

    filename: str | None
    canonical_filename: str | None
    finfo: os.stat_result | None
    path_info: str | None
    context: tuple[str, str] | None  # URL path and directory that Alias combined (CONTEXT_PREFIX)
    document_root: str | None  # replaces DocumentRoot for this request
    user: str | None
    auth_type: str | None
    handler: str | None
    handled_by: CompiledPhase | None  # the hooks of the handler phase that ran
    content_type: str | None
    untrusted_type: str | None  # a content type that selects no handler: see `set_untrusted_type`
    body_factory: Callable[[], bytes] | None  # rebuilds the body under an unchanged head; b"" if that fails
    head_bytes: int  # bytes sent beside the body, less the lost bytes of the body: see Response.on_sent
    main: Request | None
    prev: Request | None
    next: Request | None
    takeover: Takeover | None  # the protocol that continues the connection after the head of the response
    relay: Any  # see relay/cache.py
    log_lines: list[LogLine]  # error-log lines written for this request, to repeat with a cached response

    def __init__(
        self,
        engine: RequestEngine,
        connection: Connection,
        server: Server,
        plan: Plan,
        headers_in: Headers | None = None,
        files: Dependencies | None = None,
    ) -> None:
        self.engine = engine
        self.connection = connection
        self.server = server
        self.plan = plan
        self.head: Any = None  # the head as it was read (http.head.Head); None for sub-requests and redirects
        self.untracked_line: str | None = ""  # the request line; None where it could not be read
        self.method = "GET"
        self.method_number = 0
        self.header_only = False
        self.allowed = 0  # mask of methods for the Allow field
        self.protocol = "HTTP/1.1"
        self.proto = (1, 1)
        self.assbackwards = False  # HTTP/0.9: no head in the response
        self.untracked_target = ""
        self.uri = ""
        self.untracked_args: str | None = None
        self.hostname: str | None = None  # from the target or Host, lower case, without port
        self.port: int | None = None  # port of the target or Host
        self.proxy = 0
        self.headers_in = Headers() if headers_in is None else headers_in
        self.headers_out = Headers()
        self.err_headers_out = Headers()
        self.env: dict[str, str] = {}  # subprocess_env: SetEnv, SetEnvIf ...
        self.hidden_env: dict[str, Hidden] | None = None  # values behind earlier ones (engine/env.py)
        self.notes: dict[str, str] = {}
        self.request_config: dict[str, Any] | None = None  # what modules keep of this request, by their names
        self.body_in: RequestBody = EMPTY_BODY
        self.expecting_100 = False
        self.close = False  # the connection ends after this request, whether the response announces it or not
        self.filename = None
        self.canonical_filename = None
        self.finfo = None
        self.path_info = None
        self.used_path_info = 2  # 0 reject, 1 accept, 2 default: the handler decides
        self.context = None
        self.document_root = None
        self.user = None
        self.auth_type = None
        self.handler = None
        self.content_type = None
        self.untrusted_type = None
        self.handled_by = None
        self.content_encodings: list[str] = []
        self.content_languages: list[str] = []
        self.vlist_validator: str | None = None
        self.status = 200
        self.status_line: str | None = None
        self.mtime: int | None = None  # last modification, microseconds since the epoch
        self.no_cache = False
        self.no_local_copy = False
        self.body: list[Part] = []  # what the handler wrote, and the output filters made of it
        self.chunked = False
        self.body_factory = None
        self.takeover = None
        self.relay = None
        self.output_filters: list[OutputFilter] = []  # see output/filter.py
        self.input_filters: list[InputFilter] = []
        self.bytes_sent = 0
        self.head_bytes = 0
        self.is_committed = False  # this request's own response is sent, whatever its redirects are
        self.keepalive_max = 0
        self.time = 0.0  # when the request line arrived, seconds since the epoch
        self.main = None
        self.prev = None
        self.next = None
        self.deps = Dependencies() if files is None else files
        self.log_lines = []
        self.log_id = ""  # given by the first of the log lines
        self.directory_walk: Any = None  # result of the directory walk (walk.cache.WalkResult)
        self.merges: Any = None  # identity of the merged settings (walk.merges.Merges), where it matters
        self.preparation: Any = None  # see prepared/prepared_cache.py
        self.location_walk_uri: str | None = None  # the path that no <Location> can be about

    # The query and the values that contain it are tracked: reading one makes the response depend on the
    # query. Code that passes them on without depending on them reads the `untracked_` attributes.
    @property
    def args(self) -> str | None:
        """Return the query without ``?``, None without one."""
        self.deps.on_query = True
        return self.untracked_args

    @args.setter
    def args(self, query: str | None) -> None:
        self.untracked_args = query

    @property
    def unparsed_uri(self) -> str:
        """Return the target as sent."""
        self.deps.on_query = True
        return self.untracked_target

    @unparsed_uri.setter
    def unparsed_uri(self, target: str) -> None:
        self.untracked_target = target

    @property
    def the_request(self) -> str | None:
        """Return the request line; None where it could not be read."""
        self.deps.on_query = True
        return self.untracked_line

    @the_request.setter
    def the_request(self, line: str | None) -> None:
        self.untracked_line = line

    def dir_config(self, kind: type[C]) -> C:
        """Return the merged per-directory record of *kind*, defaults filled in."""
        return self.plan.dir_config(kind)

    def server_conf(self, kind: type[C]) -> C:
        """Return the merged per-server record of *kind*, defaults filled in."""
        return self.server.config(kind)

    @property
    def initial(self) -> bool:
        """Return True if this is neither a sub-request nor the target of a redirect (ap_is_initial_req)."""
        return self.main is None and self.prev is None

    def write(self, data: str | bytes) -> None:
        """Add to the response's body."""
        self.body.append(data.encode("latin-1") if isinstance(data, str) else data)

    def interim(self, status: int, fields: Iterable[tuple[str, str]] = (), reason: str | None = None) -> None:
        """Send an interim response (RFC 9110, 15.2) with *fields*, unless the final head is sent.

        A client of HTTP/1.0 gets none. *reason* is the reason phrase, None for httpd's.
        """
        send = self.connection.send_interim
        if send is not None and self.proto >= (1, 1):
            send(status, fields, reason)

    @property
    def may_cache(self) -> bool:
        """Return True if the finished response may be cached."""
        return not (self.deps.is_uncacheable or self.deps.is_per_request)

    def own_fields(self) -> Headers:
        """Return the request fields to be changed: a sub-request of 2.4 copies those of its request on the
        first change (protocol.c, ap_set_sub_req_protocol).
        """
        main = self.main
        is_shared = main is not None and self.headers_in is main.headers_in
        if is_shared and not self.plan.dialect.subrequests_share_fields:
            self.headers_in = self.headers_in.copy()
        return self.headers_in

    def drop_body(self) -> None:
        """Discard the body: files in it are closed, sources are dropped."""
        for part in self.body:
            release(part)
        self.body = []

    def client_in(self, addresses: Container[str]) -> bool:
        """Return True if the client's address, as mod_remoteip may have corrected it, is one of *addresses*:
        an object that stays the same.

        The response then depends on this alone, not on the address: it is given to all clients of whom the
        same is true.
        """
        connection = self.connection
        files = self.deps
        if connection.useragent_ip:
            files.on_client = True
            return (connection.peer_addr or connection.useragent_ip) in addresses
        if addresses not in files.address_lists:
            files.address_lists += (addresses,)
        return connection.client_ip in addresses

    def set_untrusted_type(self, value: str) -> None:
        """Set the content type to a value that may come from a request or a file: 2.4 selects no handler by
        it (AP_REQUEST_TRUSTED_CT).
        """
        self.content_type = value
        if not self.plan.dialect.all_types_select_handlers:
            self.untrusted_type = value

    def set_uncacheable(self) -> None:
        """Say that this response depended on something that cannot be noted: it will not be cached."""
        self.deps.is_uncacheable = True

    def log(
        self,
        level: str,
        text: str,
        *,
        code: str = "",
        module: str = "core",
        cause: str = "",
        source: str = "",
    ) -> None:
        """Write an error-log line about this request (see LogLine); *source* is looked up if it is empty."""
        levels = self.plan.levels
        limit = levels.get(module)
        if LEVELS[level] <= (levels.get("", DEFAULT_LEVEL) if limit is None else limit):
            self.engine.log_request(self, LogLine(level, text, code, module, cause, source))


EMPTY_BODY = RequestBody(0)
