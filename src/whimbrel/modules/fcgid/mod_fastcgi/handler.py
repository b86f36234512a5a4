"""The handler fastcgi-script (content_handler of mod_fastcgi.c)."""

from __future__ import annotations

import os
from stat import S_ISDIR
from typing import Final

from whimbrel.backends.connection import FOREVER, BackendConnection
from whimbrel.backends.fastcgi import PROXY_FCGI
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import upper
from whimbrel.base.programs import may_start_programs, report
from whimbrel.config.core_config import OPT_EXECCGI, CoreDirConfig
from whimbrel.engine.live_source import FLUSH_WAIT
from whimbrel.engine.request import Request
from whimbrel.engine.runtime import Address
from whimbrel.http.client.answer import TIMEOUT, BackendError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.fcgid.mod_fastcgi.settings import DynamicConfig, FastcgiServer, FastcgiServerConfig
from whimbrel.modules.support.cgi.environment import (
    DEFAULT_PATH,
    add_cgi_vars,
    add_common_vars,
)
from whimbrel.modules.support.cgi.script import redirect_to
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.modules.support.fastcgi_request import FastcgiRequest, log_refusal
from whimbrel.modules.support.processes.lease import ProcessLease, connection_pool
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.processes.program import ProgramClass
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

HANDLERS: Final = ("fastcgi-script", "application/x-httpd-fcgi")
MODULE: Final = "fastcgi"
CONNECT_TIMEOUT: Final = 60.0  # seconds, where -appConnTimeout sets none
MESSAGES: Final = replace(PROXY_FCGI, module=MODULE, status=500)


class FastcgiExchange(FastcgiRequest):
    """The exchange with mod_fastcgi's log lines; *name*: the application."""

    name = ""

    def head_reader(self) -> ScriptHead:
        return ScriptHead(self.r, "core")

    def log_stderr(self, text: str) -> None:
        for line in text.rstrip("\n").split("\n"):
            self.r.log("error", f'FastCGI: server "{self.name}" stderr: {line}', module=MODULE)


def server_of(servers: dict[str, FastcgiServer], path: str) -> FastcgiServer | None:
    """Return the application at *path*, or the one that has *path* below it."""
    found = servers.get(path)
    if found is not None:
        return found
    return next((each for name, each in servers.items() if path.startswith(name + "/")), None)


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler for one merged configuration."""
    has_exec = bool(scope.dir_config(CoreDirConfig).options.value & OPT_EXECCGI)

    async def run(r: Request) -> HookStatus:
        if r.handler not in HANDLERS:
            return DECLINED
        conf = r.engine.main.config(FastcgiServerConfig)
        name = r.filename or ""
        server = server_of(conf.servers, name)
        if name.rpartition("/")[2].startswith("nph-"):
            r.log("error", f'FastCGI: "{name}": nph scripts are not supported', module=MODULE)
            return 500
        if server is None:
            is_alias = r.notes.get("alias-forced-type", "").lower() == "cgi-script"
            if not has_exec and not is_alias:
                text = f'FastCGI: "ExecCGI Option" is off in this directory: {r.uri}'
                r.log("error", text, module=MODULE)
                return 403
            if r.finfo is None or S_ISDIR(r.finfo.st_mode):
                words = "does not exist" if r.finfo is None else "is a directory"
                r.log("error", f'FastCGI: invalid (dynamic) server "{name}": it {words}', module=MODULE)
                return 404 if r.finfo is None else 403
        report("", makes_response=r.main is None)
        r.set_uncacheable()
        add_common_vars(r)
        await add_cgi_vars(r)
        if not may_start_programs():
            return stand_in_answer(r, "text/plain")
        return await _serve(r, server, conf.dynamic)

    return CompiledHook(run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(HANDLERS))


async def _serve(r: Request, server: FastcgiServer | None, dynamic: DynamicConfig) -> HookStatus:
    """Answer *r* by *server*, or by a process that is started for its file."""
    settings = server or dynamic
    for header in settings.pass_headers:
        value = r.headers_in.get(header)
        if value is not None:
            r.env["HTTP_" + upper(header).replace("-", "_")] = value
    name = (r.filename or "") if server is None else server.path
    try:
        connection = await _connect(r, server, dynamic)
    except (OSError, TimeoutError) as problem:
        reason = "connect() failed"
        if isinstance(problem, TimeoutError):
            reason = f"connect() timed out (appConnTimeout={settings.connect_timeout}sec)"
        r.log("error", f'FastCGI: failed to connect to server "{name}": {reason}', module=MODULE)
        return 500
    exchange = FastcgiExchange(r, connection, MESSAGES)
    exchange.name = name
    exchange.flush_wait = FLUSH_WAIT if settings.is_flushed else None
    try:
        status = await exchange.run(list(r.env.items()), settings.idle_timeout or FOREVER)
    except BackendError as problem:
        cause = problem.reasons[-1].cause if problem.reasons else ""
        if cause == TIMEOUT:
            why = f"idle timeout ({settings.idle_timeout} sec)"
            r.log("error", f'FastCGI: comm with server "{name}" aborted: {why}', module=MODULE)
        text = f'FastCGI: incomplete headers (0 bytes) received from server "{name}"'
        r.log("error", text, module=MODULE)
        return 500
    except BodyError as problem:
        log_refusal(r, problem)
        return problem.status
    location = r.headers_out.get("Location")
    if status == OK and location is not None and r.status == 200:
        r.drop_body()
        return await redirect_to(r, location)
    return status


async def _connect(r: Request, server: FastcgiServer | None, dynamic: DynamicConfig) -> BackendConnection:
    """Return a connection. Raises OSError, TimeoutError."""
    runtime = r.engine.runtime
    manager: ProcessManager | None = runtime.program(MODULE)
    timeout = (server or dynamic).connect_timeout or CONNECT_TIMEOUT
    if server is None:
        if manager is None:
            raise OSError("no process manager")
        return await ProcessLease(manager, _program(r, dynamic)).connect(runtime, timeout)
    address: Address | None = server.address
    if address is None:
        if manager is None:
            raise OSError("no process manager")
        static = next(one for one in manager.statics if one.name == server.path)
        address = manager.static_socket(static)
    elif not isinstance(address, str):
        found = await runtime.resolve(address[0])
        address = (found[0] if found else address[0], address[1])
    return await connection_pool(r.engine).acquire(runtime, address, timeout=timeout)


def _program(r: Request, dynamic: DynamicConfig) -> ProgramClass:
    """Return the class of the processes for the file of *r*."""
    found = r.finfo
    assert found is not None
    name = r.filename or ""
    return ProgramClass(
        identity=repr((name, found.st_dev, found.st_ino, dynamic)),
        name=name,
        command=(name,),
        environment=(("PATH", os.environ.get("PATH", DEFAULT_PATH)), *dynamic.environment),
        directory=os.path.dirname(name),
        most=dynamic.most_of_class,
        least=0,
        idle_timeout=dynamic.kill_interval,
        lifetime=0,
        busy_timeout=0,
    )
