"""State of a request before its handler: all that the phases set, with what it depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whimbrel.engine.deps.files import Dependencies, is_directory, unchanged
from whimbrel.engine.env import LazyEnv
from whimbrel.engine.input.body import RequestBody
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import TrackedHeaders

if TYPE_CHECKING:
    from whimbrel.engine.plan.plan import Plan
    from whimbrel.engine.request import Request

HTTP_0_9: Final = (0, 9)
SHARED: Final = (
    "allowed",
    "auth_type",
    "canonical_filename",
    "content_type",
    "context",
    "directory_walk",
    "document_root",
    "filename",
    "finfo",
    "handler",
    "hidden_env",
    "location_walk_uri",
    "mtime",
    "no_cache",
    "no_local_copy",
    "path_info",
    "plan",
    "proxy",
    "status",
    "status_line",
    "untrusted_type",
    "uri",
    "used_path_info",
    "user",
    "vlist_validator",
)
"""Attributes of a request that phases replace, never change in place."""
COPIED: Final = (
    "content_encodings",
    "content_languages",
    "env",
    "err_headers_out",
    "headers_out",
    "input_filters",
    "log_lines",
    "merges",
    "notes",
    "output_filters",
)
"""Attributes that each request gets a copy of; filters themselves have no state of a request."""
COMPOSED: Final = ("body_in", "headers_in", "deps", "untracked_args", "untracked_target")
"""Attributes that a request has anew, with what the phases recorded in them."""
UNCHANGED: Final = (
    "assbackwards",
    "body",
    "body_factory",
    "bytes_sent",
    "chunked",
    "close",
    "expecting_100",
    "handled_by",
    "head_bytes",
    "header_only",
    "hostname",
    "is_committed",
    "keepalive_max",
    "main",
    "method",
    "method_number",
    "next",
    "port",
    "prev",
    "proto",
    "protocol",
    "request_config",
    "server",
    "takeover",
    "untracked_line",
)
"""Attributes that the phases must have left as `read_request` set them."""
OWN: Final = (
    "connection",
    "engine",
    "head",
    "log_id",
    "preparation",
    "relay",
    "time",
)
"""Attributes of the request itself, which no phase replaces."""

BASE: Final = 6144  # approximate bytes of an entry
NOTE: Final = 300  # of a dependency, a field, a variable, a filter
MAX_TRANSLATED: Final = 4096  # of what a lookup of path info has recorded
EVENT: Final = 400  # of an error-log line


class PathTranslated:
    """The file that path info stands for as a URL of its own (PATH_TRANSLATED), with what it depends on."""

    __slots__ = ("_dependencies", "_recorded", "path")

    def __init__(self, path: str | None, recorded: Dependencies) -> None:
        self.path = path
        self._dependencies = recorded.minimal()
        self._recorded = recorded.recorded()

    @property
    def weight(self) -> int:
        """Return the approximate size in memory, in bytes."""
        stats = self._recorded[0]
        return len(self.path or "") + sum([NOTE + len(path) for path, _follow in stats])

    def adopt(self, r: Request) -> bool:
        """Record in *r* what the lookup depended on; return False if that has changed."""
        files = r.engine.stat_cache
        if not unchanged(self._dependencies, files.tick if files.in_tick else None):
            return False
        r.deps.adopt(self._recorded)
        return True


def lookup_state(r: Request) -> tuple[object, ...]:
    """Return what a lookup changes in *r* if it depends on more than files and what *r* has read before."""
    deps = r.deps
    headers: Any = r.headers_in
    return (
        deps.is_uncacheable,
        deps.is_per_request,
        deps.on_client,
        deps.on_query,
        deps.on_path,
        deps.address_lists,
        deps.valid_until,
        len(deps.clock_fields),
        len(headers.accessed),
        headers.tests,
        headers.all_fields_used,
        len(r.log_lines),
    )


class PreparedRequest:
    """What the phases up to the fix-ups made of a request.

    Attributes:
        root: the plan that the phases began with; a change of a .htaccess file replaces it.
        dependencies: the files that the phases depended on; `recorded`: what they recorded.
        target, appends_query: the target; True if the query of each request is appended to it.
        keeps_query: True if each request has its own query; else all have `args`.
        weight: approximate size in memory, in bytes; `is_used`: see `SecondChance`.
        path_translated: what the path info stands for as a URL, once a handler has looked it up.
    """

    __slots__ = (
        "accessed",
        "appends_query",
        "args",
        "body_limit",
        "copied",
        "dependencies",
        "is_used",
        "keeps_query",
        "path_translated",
        "recorded",
        "root",
        "shared",
        "target",
        "tests",
        "weight",
    )

    def __init__(self, r: Request, root: Plan) -> None:
        headers: Any = r.headers_in
        self.recorded = r.deps.recorded()
        self.is_used = False
        self.root = root
        self.dependencies = r.deps.minimal()
        self.accessed = frozenset(headers.accessed)
        self.tests = headers.tests
        self.body_limit = r.body_in.limit
        self.shared = tuple([getattr(r, name) for name in SHARED])
        self.copied = _Copied(r)
        query = r.head.query
        self.args = r.untracked_args
        self.target = r.untracked_target
        self.keeps_query = not depends_on_query(r)
        self.appends_query = self.keeps_query and query is not None
        if self.appends_query:
            self.target = self.target[: len(self.target) - len(query) - 1]
        self.weight = BASE + self.copied.weight + len(r.untracked_line or "") * 4
        self.weight += sum([NOTE + len(note.path) * 2 for note in self.dependencies])
        self.path_translated: PathTranslated | None = None
        if r.path_info:
            self.weight += MAX_TRANSLATED

    def apply(self, r: Request) -> None:
        """Set on *r* what the phases would set."""
        (
            r.allowed,
            r.auth_type,
            r.canonical_filename,
            r.content_type,
            r.context,
            r.directory_walk,
            r.document_root,
            r.filename,
            r.finfo,
            r.handler,
            r.hidden_env,
            r.location_walk_uri,
            r.mtime,
            r.no_cache,
            r.no_local_copy,
            r.path_info,
            r.plan,
            r.proxy,
            r.status,
            r.status_line,
            r.untrusted_type,
            r.uri,
            r.used_path_info,
            r.user,
            r.vlist_validator,
        ) = self.shared
        if not self.keeps_query:
            r.untracked_args = self.args
            r.untracked_target = self.target
        elif self.appends_query:
            r.untracked_target = f"{self.target}?{r.untracked_args}"
        else:
            r.untracked_target = self.target
        headers: Any = r.headers_in
        headers.accessed = set(self.accessed)
        headers.tests = self.tests
        r.deps.adopt(self.recorded)
        if self.body_limit:
            r.body_in.limit = self.body_limit
        self.copied.apply(r)


class _Copied:
    """The containers of a request; None in the place of one that is empty."""

    __slots__ = (
        "always",
        "encodings",
        "env",
        "events",
        "fields",
        "filters",
        "inputs",
        "languages",
        "merges",
        "notes",
        "weight",
    )

    def __init__(self, r: Request) -> None:
        self.fields = r.headers_out.copy() if r.headers_out.entries() else None
        self.always = r.err_headers_out.copy() if r.err_headers_out.entries() else None
        self.env = r.env.for_request(Dependencies(), 0) if isinstance(r.env, LazyEnv) else r.env.copy()
        self.notes = r.notes.copy()
        self.encodings = tuple(r.content_encodings)
        self.languages = tuple(r.content_languages)
        self.filters = tuple(r.output_filters)
        self.inputs = tuple(r.input_filters)
        self.events = tuple(r.log_lines)
        self.merges = None if r.merges is None else r.merges.copy()
        texts: list[Any] = [*dict.keys(self.env), *dict.values(self.env), *self.notes, *self.notes.values()]
        for table in (self.fields, self.always):
            texts += [text for pair in (table.items() if table is not None else ()) for text in pair]
        texts += [*self.encodings, *self.languages, *(f"{line.text}{line.cause}" for line in self.events)]
        self.weight = sum([NOTE + len(text) for text in texts if isinstance(text, str)])
        self.weight += NOTE * (len(self.filters) + len(self.inputs)) + EVENT * len(self.events)

    def apply(self, r: Request) -> None:
        """Give *r* copies, and repeat the error-log lines."""
        if self.fields is not None:
            r.headers_out = self.fields.copy()
        if self.always is not None:
            r.err_headers_out = self.always.copy()
        env = self.env
        r.env = env.for_request(r.deps, int(r.time)) if isinstance(env, LazyEnv) else env.copy()
        r.notes = self.notes.copy()
        if self.encodings:
            r.content_encodings = [*self.encodings]
        if self.languages:
            r.content_languages = [*self.languages]
        if self.filters:
            r.output_filters = [*self.filters]
        if self.inputs:
            r.input_filters = [*self.inputs]
        if self.merges is not None:
            r.merges = self.merges.copy()
        for line in self.events:
            r.engine.error_log.about_request(r, line)
            r.log_lines.append(line)


def is_plain(r: Request) -> bool:
    """Return True if a request brings nothing to its phases but its head, addresses and kind of body, and its
    request line says no more than method, path, query and protocol.

    The line of ``//a``, which stands for ``/a``, does not; nor does that of an absolute target or a fragment.
    """
    head = r.head
    connection = r.connection
    target = head.uri if head.query is None else f"{head.uri}?{head.query}"
    return head.line == f"{head.method} {target} {head.protocol}" and not (
        connection.notes
        or connection.useragent_ip
        or connection.proxied is not None
        or connection.is_draining
        or head.notes
        or not r.headers_in.is_unique
        or r.body_in.failure is not None
    )


def can_prepare(r: Request) -> bool:
    """Return True if the phases depended on nothing but what they recorded, and changed nothing but *r*."""
    deps = r.deps
    headers = r.headers_in
    body = r.body_in
    env = r.env
    if deps.is_uncacheable or deps.is_per_request or deps.clock_fields or not deps.is_settled(r.time):
        return False
    if headers.__class__ is not TrackedHeaders or headers.all_fields_used or not is_plain(r):
        return False
    if body.__class__ is not RequestBody or body.count or is_directory(r.finfo):
        return False
    if env.__class__ is not dict and not (env.__class__ is LazyEnv and env.is_pristine):
        return False
    if r.headers_out.__class__ is not Headers or r.err_headers_out.__class__ is not Headers:
        return False
    if not all(isinstance(note, str | int) for note in r.notes.values()):
        return False
    if r.log_lines and not r.engine.error_log.is_default(r.server):
        return False  # its format may show what a later phase has changed
    return _has_head_of_client(r)


def _has_head_of_client(r: Request) -> bool:
    """Return True if the phases left what the head says, and wrote nothing."""
    head = r.head
    return (
        r.method == head.method
        and r.protocol == head.protocol
        and r.proto == head.version
        and r.hostname == head.hostname
        and r.port == head.port
        and r.untracked_line == head.line
        and r.expecting_100 is head.expect_continue
        and r.close is head.close
        and r.method_number == r.engine.methods.number(r.method)
        and r.header_only is (r.method == "HEAD")
        and r.assbackwards is (head.version == HTTP_0_9)
        and r.server is r.plan.server_rec
        and r.main is r.prev is r.next is None
        and not (r.body or r.body_factory or r.chunked or r.is_committed)
        and not (r.bytes_sent or r.head_bytes or r.keepalive_max or r.request_config)
    )


def depends_on_query(r: Request) -> bool:
    """Return True if the phases depended on the query, or did more with it than pass it on."""
    query = r.head.query
    if r.deps.on_query or r.untracked_args != query:
        return True
    if query is None:
        return False
    path, mark, rest = r.untracked_target.partition("?")
    return mark + rest != f"?{query}" or not path
