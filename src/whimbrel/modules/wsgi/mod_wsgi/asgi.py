"""ASGIScriptAlias: mod_proxy sends the requests to the Unix socket of the application's own server."""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import atoi, lower
from whimbrel.base.programs import may_start_programs, report
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.mappers.mod_alias import alias_length
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.reverse_dns import client_address
from whimbrel.modules.support.tokens import connection_names
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiServerConfig
from whimbrel.modules.wsgi.mod_wsgi.translate import ASGI_HANDLER, ASGI_MOUNT
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

MODULE: Final = "wsgi"
SCHEME_FIELD: Final = "X-Forwarded-Proto"
CLIENT_FIELD: Final = "X-Whimbrel-Client"  # for the application's server, which takes it away
_OWN: Final = frozenset((lower(SCHEME_FIELD), lower(CLIENT_FIELD)))


def socket_name(number: int) -> str:
    """Return the name of the socket of an alias."""
    return f"asgi{number}"


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook that turns a mapped request into a proxied one; None without aliases."""
    mounts = {mount.number: mount for mount in scope.server_config(WsgiServerConfig).asgi_aliases}
    if not mounts:
        return None
    has_tunnel = scope.loaded("proxy_wstunnel_module")

    def fixup(r: Request) -> HookStatus:
        mount = mounts.get(atoi(r.notes.get(ASGI_MOUNT, "-1")))
        if r.handler != ASGI_HANDLER or mount is None:
            return DECLINED
        if r.finfo is None:
            r.log("error", f"Target ASGI script not found or unable to stat: {r.filename}", module=MODULE)
            return 404
        report(f"{mount.callable_object} of {mount.script} (process group '{mount.process_group}')")
        manager: ProcessManager | None = r.engine.runtime.program(MODULE)
        if manager is None or not may_start_programs():
            return 503
        is_tunnel = has_tunnel and lower(r.headers_in.get_list("Upgrade") or "") == "websocket"
        scheme = "ws" if is_tunnel else "http"
        host = r.headers_in.get("Host") or identity.server_name(r)
        r.handler = f"proxy:unix:{manager.directory}/{socket_name(mount.number)}|{scheme}://{host}"
        rest = r.uri[alias_length(r.uri, mount.location) :]
        r.filename = rest if rest.startswith("/") else f"/{rest}"
        r.path_info = ""
        r.headers_in.set(SCHEME_FIELD, identity.scheme(r))
        r.headers_in.set(CLIENT_FIELD, client_address(r))
        _hold(r.headers_in, version22=not r.plan.dialect.messages_24)
        return OK

    return CompiledHook(fixup, Reads.UNCACHEABLE)


def _hold(fields: Headers, *, version22: bool) -> None:
    """Take the server's own fields out of Connection, whose fields mod_proxy does not send."""
    names = connection_names(fields, version22=version22)
    if not _OWN.isdisjoint(map(lower, names)):
        fields.set("Connection", ", ".join(name for name in names if lower(name) not in _OWN))
