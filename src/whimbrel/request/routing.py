"""From a head to a request: its fields, and the virtual host that it is for (httpd's ap_read_request and vhost.c)."""

from __future__ import annotations

from whimbrel.config.core import CoreServer
from whimbrel.config.hosts import matcher
from whimbrel.http.asked import AskedHeaders
from whimbrel.http.head import Head
from whimbrel.registry.phases import OK, Answer
from whimbrel.request.record import Request


def place_request(r: Request, head: Head) -> Answer:
    """Fill *r* from *head* and give it its server; OK, or the status to refuse it with."""
    engine = r.engine
    r.head = head
    r.the_request = head.line
    r.method = head.method or "-"
    r.method_number = engine.methods.number(r.method)
    r.header_only = r.method == "HEAD"
    r.protocol, r.proto = head.protocol, head.version
    r.assbackwards = head.version == (0, 9)
    r.unparsed_uri, r.uri, r.args = head.target, head.uri, head.query
    r.headers_in, r.hostname, r.port = AskedHeaders(head.headers), head.hostname, head.port
    r.expecting_100 = head.expect_continue
    r.close = head.close or head.error is not None
    _choose_server(r, head)
    r.plan = engine.world.root(r.server)
    for reason in head.notes:
        r.log(reason.level, reason.text, code=reason.code, cause=reason.cause)
    if head.error is None:
        return _foreign_scheme(r, head) or _strictly_named(r)
    for reason in head.error.reasons:
        r.log(reason.level, reason.text, code=reason.code, cause=reason.cause)
    if head.error.notes:
        r.notes["error-notes"] = head.error.notes
    r.outside()
    return head.error.status


def _choose_server(r: Request, head: Head) -> None:
    """The virtual host by address, then by name, then (without a name) by ServerPath, which is cut off the path."""
    hosts = r.engine.configuration.hosts
    if hosts is None:
        return
    candidates = hosts.find(r.connection.local_ip, r.connection.local_port)
    r.server = candidates.server
    if head.error is not None and not head.error.hooks:
        return
    if r.hostname:
        named = candidates.by_name(r.hostname)
        if named is not None:
            r.server = named
        return
    found = candidates.by_path(r.uri)
    if found is not None:
        r.server = found
        rest = r.uri[len(found.path.rstrip("/")) :]
        r.uri = rest or "/"


def _foreign_scheme(r: Request, head: Head) -> Answer:
    """2.4 refuses an absolute target of a scheme that no server speaks."""
    if head.url is None or not r.plan.dialect.strict_host or r.method == "CONNECT":
        return OK
    return OK if (head.url.scheme or "http").lower() in ("http", "https") else 400


def _strictly_named(r: Request) -> Answer:
    """StrictHostCheck: a host name that no server here has is refused."""
    if not r.server_conf(CoreServer).strict_host_check or r.hostname is None:
        return OK
    host = r.hostname.lower()
    own = (r.server.name, *r.server.names)
    if host in (name.lower() for name in own) or any(matcher(name)(host) for name in r.server.wild_names):
        return OK
    text = f"Requested hostname '{r.hostname}' did not match any ServerName/ServerAlias in the matching virtual host"
    r.log("warn", f"{text} (default vhost for current connection is {r.server.place})", code="AH10157")
    r.outside()
    return 400
