"""The handler wsgi-script (wsgi_hook_handler and wsgi_execute_remote)."""

from __future__ import annotations

from collections.abc import Mapping
from stat import S_ISDIR
from typing import Final

from whimbrel.backends.connection import FOREVER, RESET, BackendConnection
from whimbrel.base.doorkeeper import Doorkeeper
from whimbrel.base.numbers import decimal, is_digits, lower
from whimbrel.base.programs import may_start_programs, report
from whimbrel.config.core_config import OPT_EXECCGI, CoreDirConfig, CoreServerConfig
from whimbrel.engine.input.body import body_limit, too_large
from whimbrel.engine.log.error_log_format import log_id
from whimbrel.engine.relay.relay import RELAYABLE
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import TIMEOUT, BackendError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.head_shape import field_names
from whimbrel.modules.support.cgi.script import redirect_to
from whimbrel.modules.support.fastcgi_request import log_refusal
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.modules.wsgi.mod_wsgi.connect import connect, place_of
from whimbrel.modules.wsgi.mod_wsgi.dispatch import dispatched
from whimbrel.modules.wsgi.mod_wsgi.exchange import WsgiExchange
from whimbrel.modules.wsgi.mod_wsgi.groups import Name, callable_name, group_name, resolved
from whimbrel.modules.wsgi.mod_wsgi.options import DaemonProcess
from whimbrel.modules.wsgi.mod_wsgi.owners import owner_refusal
from whimbrel.modules.wsgi.mod_wsgi.processes import EMBEDDED, WsgiPool
from whimbrel.modules.wsgi.mod_wsgi.records import MODULE, ConnectionGivenUp, Rejected, variable_text
from whimbrel.modules.wsgi.mod_wsgi.relay import (
    WsgiRelayExchange,
    is_same,
    offer_relay,
    own_variables,
    taken_relay,
)
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig, WsgiScript, WsgiServerConfig
from whimbrel.modules.wsgi.mod_wsgi.target import WsgiTarget
from whimbrel.modules.wsgi.mod_wsgi.translate import (
    APPLICATION_GROUP,
    CALLABLE,
    FORCED_TYPE,
    HANDLER,
    PASS_AUTHORIZATION,
    PROCESS_GROUP,
)
from whimbrel.modules.wsgi.mod_wsgi.variables import VariableBuilder
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

NAMES: Final = (HANDLER, "application/x-httpd-wsgi")
HANDLER_CALLABLE: Final = "handle_request"
RESOURCE: Final = "%{RESOURCE}"
MAX_HEADS: Final = 1024  # hashes of request lines and field names that came once
_NO_OPTIONS: Final[Mapping[str, str]] = {}


class WsgiHandler:
    """The handler for one merged configuration."""

    def __init__(self, scope: Scope) -> None:
        conf = scope.dir_config(WsgiDirConfig)
        self.conf = conf
        self._has_exec = bool(scope.dir_config(CoreDirConfig).options.value & OPT_EXECCGI)
        self._timeout = scope.server_config(CoreServerConfig).timeout
        self._process_group: Name = group_name(conf.process_group, "")
        self._application_group: Name = group_name(conf.application_group, RESOURCE)
        self._callable: Name = callable_name(conf.callable_object)
        self._variables = VariableBuilder(conf)
        self._heads = Doorkeeper(MAX_HEADS)
        self._names: dict[str, Name] = {}  # of notes, which aliases set: as many as there are aliases

    def error(self, r: Request, text: str, name: str | None = None) -> None:
        """Log *text* with the script (wsgi_log_script_error)."""
        r.log("error", f"{text}: {name or r.filename}", module=MODULE)

    # before the request is sent ---------------------------------------------------------------------
    def _target(self, r: Request, options: Mapping[str, str]) -> WsgiTarget:
        """Return where *r* goes by the configuration and the *options* of the alias that has mapped it."""
        process_group = options.get(PROCESS_GROUP)
        application_group = options.get(APPLICATION_GROUP)
        passes = options.get(PASS_AUTHORIZATION)
        return WsgiTarget(
            resolved(self._process_group, r) if process_group is None else self._named(process_group, r),
            resolved(self._application_group, r)
            if application_group is None
            else self._named(application_group, r),
            options.get(CALLABLE) or resolved(self._callable, r),
            self.conf.pass_authorization if passes is None else passes == "1",
        )

    def _named(self, text: str, r: Request) -> str:
        """Return the group that *text* of a directive names for *r*."""
        name = self._names.get(text)
        if name is None:
            name = group_name(text, "")
            self._names[text] = name
        return resolved(name, r)

    def _take_script(self, r: Request, target: WsgiTarget, script: WsgiScript) -> None:
        """Take a script of WSGIHandlerScript."""
        target.handler_script = script.path
        target.callable = HANDLER_CALLABLE
        if script.process_group is not None:
            target.process_group = self._named(script.process_group, r)
        if script.application_group is not None:
            target.application_group = self._named(script.application_group, r)
        if script.pass_authorization is not None:
            target.pass_authorization = script.pass_authorization

    def _script_refusal(self, r: Request, is_aliased: bool) -> HookStatus:
        if not self._has_exec and not is_aliased:
            self.error(r, "Options ExecCGI is off in this directory")
            return 403
        if r.finfo is None:
            self.error(r, "Target WSGI script not found or unable to stat")
            return 404
        if S_ISDIR(r.finfo.st_mode):
            self.error(r, "Attempt to invoke directory as WSGI application")
            return 403
        return OK

    def _body_refusal(self, r: Request) -> HookStatus:
        coding = r.headers_in.get_list("Transfer-Encoding")
        if coding is not None:
            if lower(coding) != "chunked":
                self.error(
                    r,
                    f"Unexpected value for Transfer-Encoding of '{coding}' supplied. "
                    "Only 'chunked' supported.",
                )
                return 501
            if not self.conf.chunked_request:
                self.error(
                    r,
                    "Received request requiring chunked transfer encoding, but optional support for chunked "
                    "transfer encoding has not been enabled.",
                )
                return 411
        length = r.headers_in.get("Content-Length")
        if length is None:
            return OK
        if not is_digits(length):
            self.error(r, f"Invalid Content-Length header value of '{length}' was supplied.")
            return 400
        limit = body_limit(r)
        announced = decimal(length)
        if limit and announced > limit:
            problem = r.body_in.refused(too_large(limit, announced=announced))
            log_refusal(r, problem)
            return problem.status
        return OK

    # the request ------------------------------------------------------------------------------------
    async def run(self, r: Request) -> HookStatus:
        """Answer *r*."""
        script = self.conf.handler_scripts.get(r.handler or "")
        if script is None and r.handler not in NAMES:
            return DECLINED
        relay = taken_relay(r)
        try:
            is_aliased = r.handler in NAMES and lower(r.notes.get(FORCED_TYPE, "")) == HANDLER
            target = self._target(r, r.notes if is_aliased else _NO_OPTIONS)
            if r.handler not in NAMES and script is not None:
                self._take_script(r, target, script)
            status = await self._prepare(r, target, is_aliased=is_aliased)
            is_own = r.head is not None and self.conf.dispatch_script is None  # of a client, and decided here
            if status == OK and is_own and not r.deps.is_uncacheable:
                r.relay = RELAYABLE
            r.set_uncacheable()
            if status == OK and self.conf.dispatch_script is not None:
                status = await dispatched(r, self.conf.dispatch_script, target)
                self._set_target(r, target)
            if status != OK:
                return status
            return await self._execute(r, target, relay)
        finally:
            if relay is not None and relay.has_started and not relay.has_ended:
                relay.close()

    async def _prepare(self, r: Request, target: WsgiTarget, *, is_aliased: bool) -> HookStatus:
        """Check *r* and set its variables, all of which depend on the request and the settings alone."""
        if r.handler in NAMES:
            status = self._script_refusal(r, is_aliased)
            if status != OK:
                return status
        if r.used_path_info == 0 and r.path_info:
            self.error(r, "AcceptPathInfo off disallows user's path")
            return 404
        status = self._body_refusal(r)
        if status != OK:
            return status
        await self._variables.build(r, pass_authorization=target.pass_authorization)
        self._set_target(r, target)
        return OK

    def _set_target(self, r: Request, target: WsgiTarget) -> None:
        env = r.env
        env["mod_wsgi.process_group"] = target.process_group
        env["mod_wsgi.application_group"] = target.application_group
        env["mod_wsgi.callable_object"] = target.callable
        env["mod_wsgi.handler_script"] = target.handler_script

    async def _execute(self, r: Request, target: WsgiTarget, relay: WsgiRelayExchange | None) -> HookStatus:
        group = target.process_group
        allowed = self.conf.restrict_process
        if allowed is not None and group not in allowed:
            self.error(
                r,
                f"Daemon process called '{group}' cannot be accessed by this WSGI application as not a "
                "member of allowed groups",
            )
            return 500
        if not group:
            if r.engine.main.config(WsgiServerConfig).restrict_embedded:
                self.error(r, "Embedded mode of mod_wsgi disabled by runtime configuration")
                return 500
            return await self._send(r, target, EMBEDDED, relay)
        daemon = r.engine.main.config(WsgiServerConfig).daemons.get(group)
        if daemon is None:
            self.error(r, f"No WSGI daemon process called '{group}' has been configured")
            return 500
        if daemon.script_user or daemon.script_group:
            r.relay = None  # depends on the owner of the directory
            refusal = owner_refusal(r, daemon)
            if refusal:
                self.error(r, *refusal)
                return 403
        return await self._send(r, target, daemon, relay)

    async def _send(
        self, r: Request, target: WsgiTarget, daemon: DaemonProcess, relay: WsgiRelayExchange | None
    ) -> HookStatus:
        """Send *r* to a process; to another one if that is about to be replaced."""
        manager: ProcessManager | None = r.engine.runtime.program(MODULE)
        if manager is None:
            report(described(r, target), makes_response=r.main is None)
        if manager is None and not may_start_programs():
            return stand_in_answer(r, "text/plain", described(r, target))
        if manager is None:
            self.error(r, f"No WSGI daemon process called '{target.process_group}' has been configured")
            return 500
        pool: WsgiPool = manager.context
        owner = pool.server_names.get(daemon.name)
        if owner is not None and owner != r.server.name:
            self.error(
                r, f"Daemon process called '{daemon.name}' cannot be accessed by this WSGI application"
            )
            return 500
        return await self._send_to(r, target, daemon, manager, relay)

    async def _send_to(
        self,
        r: Request,
        target: WsgiTarget,
        daemon: DaemonProcess,
        manager: ProcessManager,
        relay: WsgiRelayExchange | None,
    ) -> HookStatus:
        """Send *r* to a process of *daemon*, which *relay* may have done."""
        place = place_of(manager, daemon.name, target.application_group)
        variables = variable_text(r.env.items())
        has_body = not (r.body_in.ended and not r.body_in.buffered)
        timeout = daemon.socket_timeout or self._limit(target)
        is_new = relay is not None and not relay.has_started  # it has waited long enough
        if relay is not None and (is_new or has_body or not is_same(relay, place.path, variables)):
            relay.close()
            relay = None
        identifier = r.log_id or r.env.get("UNIQUE_ID") or log_id()
        restarts = 0
        connects = 0
        while True:
            connects += 1
            own = b""
            connection: BackendConnection | None
            if relay is not None:
                connection = relay.connection
            else:
                is_embedded = not target.process_group
                own = own_variables(r.time, identifier, connects, restarts, is_embedded=is_embedded)
                connection = await connect(r, manager, daemon, target.application_group, is_new=is_new)
            if connection is None:
                return 503
            exchange = WsgiExchange(
                r,
                connection,
                target.process_group,
                variables + own,
                has_body=has_body,
                max_line=daemon.header_buffer_size,
                relay=relay,
            )
            relay = None
            try:
                status = await exchange.run((), timeout)
            except Rejected:
                restarts += 1
                if restarts > 2 * daemon.processes + 1:
                    return 503
                text = f"Connect after WSGI daemon process restart, attempt #{restarts}."
                r.log("info", f"mod_wsgi (pid={r.engine.runtime.pid}): {text}", module=MODULE)
                continue
            except ConnectionGivenUp:
                connects -= 1
                is_new = True
                continue
            except BackendError as problem:
                if not is_new and was_unread(connection, problem):
                    is_new = True
                    continue
                return self._failed(exchange, problem)
            except BodyError as problem:
                log_refusal(r, problem)
                return problem.status
            if status == OK and r.relay is RELAYABLE and self._has_seen(r):
                offer_relay(r, place, variables, timeout, exchange.reader)
            return await self._finish(r, target, status)

    def _has_seen(self, r: Request) -> bool:
        """Return True if a request with the line and the field names of *r* came before."""
        return self._heads.has_seen(hash((r.untracked_line, *field_names(r.head.raw))))

    def _limit(self, target: WsgiTarget) -> float:
        """Return the seconds of silence that a process may keep; embedded applications have no limit."""
        return self._timeout if target.process_group else FOREVER

    def _failed(self, exchange: WsgiExchange, problem: BackendError) -> HookStatus:
        reasons = problem.reasons
        if reasons and reasons[-1].cause == TIMEOUT:
            return exchange.head_reader().timed_out()
        return exchange.head_reader().ended()

    async def _finish(self, r: Request, target: WsgiTarget, status: HookStatus) -> HookStatus:
        """Handle what a head can ask for: an internal redirect, an error page of the server."""
        if status != OK or not target.process_group:
            return status
        location = r.headers_out.get("Location")
        if location is not None and location.startswith("/") and r.status == 200:
            r.drop_body()
            r.status_line = None
            return await redirect_to(r, location)
        if self.conf.error_override and r.status >= 400:
            found = r.status
            r.status = 200
            r.status_line = None
            r.drop_body()
            return found
        return OK


def was_unread(connection: BackendConnection, problem: BackendError) -> bool:
    """Return True if the process that had *connection* was killed before it read the request.

    A Unix socket whose other end is closed with unread bytes is reset; if all was read, its input just ends.
    """
    return not connection.has_answered and bool(problem.reasons) and problem.reasons[-1].cause == RESET


def described(r: Request, target: WsgiTarget) -> str:
    """Return the application of *target* with its groups, for people."""
    return (
        f"{target.callable} of {target.handler_script or r.filename} "
        f"(process group '{target.process_group}', application group '{target.application_group}')"
    )


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler."""
    handler = WsgiHandler(scope)
    names = frozenset((*NAMES, *handler.conf.handler_scripts))
    return CompiledHook(handler.run, Reads.HEAD | Reads.FILES, is_async=True, handlers=names)
