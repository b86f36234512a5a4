"""From a head to a request: its fields, and the virtual host that it is for (httpd's ap_read_request and
vhost.c).
"""

from __future__ import annotations

from typing import Final

from whimbrel.config.model import Server
from whimbrel.config.vhosts import matcher
from whimbrel.engine.connection import Connection
from whimbrel.engine.request import Request, RequestEngine
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.http.syntax.head import Head, HeadError
from whimbrel.registry.phases import OK, HookStatus

HTTP_0_9: Final = (0, 9)
# length of a host name (RFC 1035, 2.3.4); longer ones are not cached
MAX_NAME: Final = 255


def read_request(engine: RequestEngine, connection: Connection, head: Head) -> tuple[Request, HookStatus]:
    """Return the request that *head* is, with its server; and OK, or the status to refuse it with."""
    plans = engine.plans
    url = head.url
    key = (connection.local_ip, connection.local_port, head.hostname)
    plan = plans.by_host.get(key) if head.error is None and head.hostname else None
    r = Request(
        engine,
        connection,
        engine.main,
        plan or plans.root(engine.main),
        TrackedHeaders(head.headers),
        engine.dependencies(engine.stat_cache),
    )
    r.time = engine.runtime.now()
    r.head = head
    r.untracked_line = head.line
    if head.method != "GET":
        r.method = "-" if head.method is None else head.method
        r.method_number = engine.methods.number(r.method)
        r.header_only = r.method == "HEAD"
    r.protocol = head.protocol
    r.proto = head.version
    r.assbackwards = head.version == HTTP_0_9
    r.untracked_target = head.target
    r.uri = head.uri
    r.untracked_args = head.query
    r.hostname = head.hostname
    r.port = head.port
    r.expecting_100 = head.expect_continue
    r.close = head.close or head.error is not None
    if plan is None:
        r.server = requested_server(engine, connection, head)
        r.plan = plans.root(r.server)
        if r.hostname and len(r.hostname) <= MAX_NAME and head.error is None:
            plans.by_host[key] = r.plan
    else:
        r.server = plan.server_rec
    for reason in head.notes:
        r.log(reason.level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
    if head.error is not None:
        # ap_check_request_header checks the name of the host before the expectation
        status = _strictly_named(r) if head.error.status == 417 else OK
        return r, status or _refused(r, head.error)
    status = OK if url is None else _foreign_scheme(r, head)
    return r, status or _strictly_named(r)


def _refused(r: Request, error: HeadError) -> HookStatus:
    """Log the faults of a head; return the status to answer with."""
    for reason in error.reasons:
        r.log(reason.level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
    if error.notes:
        r.notes["error-notes"] = error.notes
    r.set_uncacheable()
    return error.status


def requested_server(engine: RequestEngine, connection: Connection, head: Head) -> Server:
    """Return the virtual host by address, then by name, then (without a name) by ServerPath; the core's
    translation leaves that out.
    """
    hosts = engine.configuration.hosts
    if hosts is None:
        return engine.main
    candidates = hosts.find(connection.local_ip, connection.local_port)
    if head.error is not None and not head.error.hooks:
        return candidates.server
    name = head.hostname
    server = candidates.by_path(head.uri) if name is None else candidates.by_name(name)
    return candidates.server if server is None else server


def _foreign_scheme(r: Request, head: Head) -> HookStatus:
    """2.4 refuses an absolute target of a scheme that no server speaks; mod_proxy does so if it is loaded."""
    if head.url is None or not r.plan.dialect.strict_host or r.method == "CONNECT":
        return OK
    if r.plan.loaded("proxy_module"):
        return OK
    return OK if (head.url.scheme or "http").lower() in ("http", "https") else 400


def _strictly_named(r: Request) -> HookStatus:
    """StrictHostCheck On: a host name that no server here has is refused."""
    if r.hostname is None or not r.plan.server_core.strict_host_check:
        return OK
    host = r.hostname.lower()
    names = (r.server.name, *r.server.names)
    if host in (name.lower() for name in names) or any(matcher(name)(host) for name in r.server.wild_names):
        return OK
    text = f"Requested hostname '{r.hostname}' did not match any ServerName/ServerAlias in the"
    if r.server.is_virtual:
        place = f"(default vhost for current connection is {r.server.place})"
        r.log("warn", f"{text} matching virtual host {place}", code="AH10157")
    else:
        r.log("warn", f"{text} global server configuration ", code="AH10156")
    r.set_uncacheable()
    return 400
