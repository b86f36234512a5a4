"""From a head to a request: its fields, and the virtual host that it is for (httpd's ap_read_request and vhost.c)."""

from __future__ import annotations

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
    r.headers_in, r.hostname, r.port = head.headers, head.hostname, head.port
    r.expecting_100 = head.expect_continue
    if head.close or head.error is not None:
        r.env["nokeepalive"] = "1"
    connection = r.connection
    hosts = engine.configuration.hosts
    if hosts is not None and hasattr(hosts, "default"):
        r.server = hosts.default(connection.local_ip, connection.local_port)
        if head.error is None or head.error.hooks:
            found = hosts.select(connection.local_ip, connection.local_port, head.hostname, head.port, head.uri)
            r.server = found.server
            if found.path:
                r.uri = r.uri[len(found.path) :] or "/"
                if not r.uri.startswith("/"):
                    r.uri = "/" + r.uri
    r.plan = engine.world.root(r.server)
    for reason in head.notes:
        r.log(reason.level, _full(reason.text, reason.cause), code=reason.code)
    if head.error is None:
        return OK
    for reason in head.error.reasons:
        r.log(reason.level, _full(reason.text, reason.cause), code=reason.code)
    if head.error.notes:
        r.notes["error-notes"] = head.error.notes
    r.keep = False
    return head.error.status


def _full(text: str, cause: str) -> str:
    return f"{cause}: {text}" if cause else text
