"""Request as access logs read it on a hit of the response cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whimbrel.engine.deps.files import Dependencies
from whimbrel.engine.env import LazyEnv

if TYPE_CHECKING:
    from whimbrel.engine.cache.hit_log import HitLog
    from whimbrel.engine.cache.raw_head import RawHead
    from whimbrel.engine.cache.response_template import ResponseTemplate
    from whimbrel.engine.connection import Connection
    from whimbrel.http.syntax.head import Head


class CachedRequestView:
    """Request of a cached response, with the values of the present request for the dynamic items of a log
    line.

    *head* and *headers_in* are those of the present request; so are request line and query where the response
    is the same for every query.
    """

    __slots__ = (
        "_env",
        "any_query",
        "bytes_sent",
        "connection",
        "head",
        "head_bytes",
        "headers_in",
        "log_id",
        "prev",
        "request",
        "time",
    )

    def __init__(
        self,
        log: HitLog,
        template: ResponseTemplate,
        connection: Connection,
        time: float,
        head: Head | RawHead,
    ) -> None:
        self.request = log.request
        self.connection = connection
        self.time = time
        self.head = head
        self.headers_in = head.headers if log.changed is None else log.changed
        self.bytes_sent = template.size
        self.head_bytes = template.head_size + template.framing + template.digits(connection.served)
        self.prev = None
        self.any_query = log.any_query
        self._env: LazyEnv | None = None
        self.log_id = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)

    @property
    def env(self) -> dict[str, str]:
        """See Request; what no other request may have is rebuilt, once for this one."""
        env = self.request.env
        if not isinstance(env, LazyEnv):
            return env
        if self._env is None:
            self._env = env.for_request(Dependencies(), int(self.time))
        return self._env

    @property
    def the_request(self) -> str | None:
        return self.head.line if self.any_query else self.request.untracked_line

    @property
    def args(self) -> str | None:
        """See Request."""
        if not self.any_query:
            return self.request.untracked_args
        _path, mark, query = (self.head.line or "").partition("?")
        return query.rpartition(" ")[0] if mark else None
