"""One request to a process of mod_fcgid (fcgid_bridge.c): variables, body, claim, exchange."""

from __future__ import annotations

import os
from typing import Any, Final

from whimbrel.backends.fastcgi import PROXY_FCGI, FastcgiRole
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine import identity
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import TIMEOUT, BackendError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.fcgid.mod_fcgid.settings import (
    ANY_SUFFIX,
    CommandOptions,
    FcgidCommand,
    FcgidServerConfig,
)
from whimbrel.modules.support.body_sender import SpooledInput
from whimbrel.modules.support.cgi.environment import DEFAULT_PATH, environment
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.modules.support.fastcgi_request import FastcgiRequest, PausedBody, log_refusal
from whimbrel.modules.support.processes.lease import ProcessLease
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.processes.program import ProgramClass
from whimbrel.registry.module import Scope
from whimbrel.registry.phases import HookStatus

MODULE: Final = "fcgid"
MESSAGES: Final = replace(PROXY_FCGI, module=MODULE, status=500)
_HOP_BY_HOP: Final = (
    "HTTP_KEEP_ALIVE",
    "HTTP_TE",
    "HTTP_TRAILER",
    "HTTP_TRANSFER_ENCODING",
    "HTTP_UPGRADE",
)


class TooLong(Exception):
    """A request body beyond FcgidMaxRequestLen; it is logged."""


class FcgidExchange(FastcgiRequest):
    """The exchange with mod_fcgid's log lines."""

    def head_reader(self) -> ScriptHead:
        return ScriptHead(self.r, "core")

    def respond(self) -> None:
        self.r.body.append(PausedBody(self))

    def log_stderr(self, text: str) -> None:
        for line in text.rstrip("\n").split("\n"):
            self.r.log("warn", f"mod_fcgid: stderr: {line}", module=MODULE)


class FcgidBridge:
    """What one merged configuration makes of requests for processes."""

    def __init__(self, scope: Scope) -> None:
        self.conf = scope.server_config(FcgidServerConfig)
        self.host = scope.server_config(CoreServerConfig)
        self._old = not scope.dialect.messages_24
        self._programs: dict[Any, tuple[ProgramClass, CommandOptions]] = {}

    def program(self, command: FcgidCommand, r: Request) -> tuple[ProgramClass, CommandOptions]:
        """Return the class of the processes of *command* and its options."""
        key = (command, id(r.server))
        known = self._programs.get(key)
        if known is None:
            if len(self._programs) > 1000:
                self._programs.clear()
            known = self._program(command, r)
            self._programs[key] = known
        return known

    def _program(self, command: FcgidCommand, r: Request) -> tuple[ProgramClass, CommandOptions]:
        conf = self.conf
        options = conf.options.get(command.command[0])
        if options is None:
            options = CommandOptions(
                connect_timeout=conf.connect_timeout,
                idle_timeout=conf.idle_timeout,
                io_timeout=conf.io_timeout,
                most=conf.most,
                lifetime=conf.lifetime,
                max_requests=conf.max_requests,
                least=conf.least,
                environment=tuple(conf.environment.items()),
            )
        variables = {"PATH": os.environ.get("PATH", DEFAULT_PATH)}
        if "LD_LIBRARY_PATH" in os.environ:
            variables["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
        variables.update(options.environment)
        number = r.engine.configuration.servers().index(r.server)
        program = ProgramClass(
            identity=repr((command.identity, command.command, number, options)),
            name=command.command[0],
            label=f"{r.server.name or identity.server_name(r)}:{command.command[0]}",
            command=command.command,
            environment=tuple(variables.items()),
            directory=os.path.dirname(command.command[0]),
            most=options.most,
            least=options.least,
            idle_timeout=options.idle_timeout,
            lifetime=options.lifetime,
            busy_timeout=conf.busy_timeout,
            max_requests=max(0, options.max_requests),
        )
        return program, options

    def add_variables(self, r: Request) -> None:
        """Add the variables that mod_fcgid has beyond those of CGI, and remove those of the connection."""
        for name in self.conf.pass_headers:
            value = r.headers_in.get(name)
            if value is not None:
                r.env[name] = value
        if self.conf.fix_pathinfo:
            root = r.env.get("DOCUMENT_ROOT")
            script = r.env.get("SCRIPT_NAME")
            if root is not None and script is not None and not script.startswith("/"):
                r.env["SCRIPT_NAME"] = f"{root}/{script}"
        for name in _HOP_BY_HOP:
            r.env.pop(name, None)
        r.env["HTTP_CONNECTION"] = "close"

    async def body(self, r: Request) -> SpooledInput:
        """Return the request body, all of it. Raises TooLong, BodyError."""
        spooled = SpooledInput(self.conf.in_memory)
        limit = self.conf.max_request
        while data := await r.body_in.read():
            if spooled.length + len(data) > limit:
                spooled.close()
                size = spooled.length + len(data)
                text = f"mod_fcgid: HTTP request length {size} (so far) exceeds MaxRequestLen ({limit})"
                r.log("warn", text, module=MODULE)
                raise TooLong
            spooled.write(data)
        spooled.rewind()
        return spooled

    async def run(
        self, r: Request, command: FcgidCommand, role: FastcgiRole, body: SpooledInput | None = None
    ) -> HookStatus:
        """Send *r* to a process of *command*; the rest of the answer is the body of the response."""
        manager: ProcessManager | None = r.engine.runtime.program("fcgid")
        program, options = self.program(command, r)
        if manager is None:
            return self._unserved(r, program)
        lease = ProcessLease(manager, program)
        lease.on_late = lambda: r.log(
            "info",
            f"mod_fcgid: {r.uri} took longer than busy timeout ({program.busy_timeout} secs)",
            module=MODULE,
        )
        try:
            connection = await lease.connect(r.engine.runtime, max(1, options.connect_timeout))
        except TimeoutError:
            return self._unserved(r, program)
        exchange = FcgidExchange(r, connection, MESSAGES, role=role)
        if body is not None:
            exchange.body = body
        try:
            variables = [(to_text(name), to_text(value)) for name, value in environment(r).items()]
            return await exchange.run(variables, options.io_timeout)
        except BackendError as problem:
            self._failed(r, problem, options)
            return ScriptHead(r, "core").ended()

    def _unserved(self, r: Request, program: ProgramClass) -> HookStatus:
        r.log("warn", f"mod_fcgid: can't apply process slot for {program.name}", module=MODULE)
        return 503

    def _failed(self, r: Request, problem: BackendError, options: CommandOptions) -> None:
        cause = problem.reasons[-1].cause if problem.reasons else ""
        if cause == TIMEOUT:
            r.log("warn", f"mod_fcgid: read data timeout in {options.io_timeout} seconds", module=MODULE)
        elif cause.startswith("(104)"):
            text = "mod_fcgid: error reading data from FastCGI server"
            r.log("warn", text, module=MODULE, cause=cause)
        else:
            text = "mod_fcgid: error reading data, FastCGI server closed connection"
            r.log("warn", text, module=MODULE)


def wrapper_of(wrappers: dict[str, FcgidCommand], path: str) -> FcgidCommand | None:
    """Return the program for the file *path*: that for its suffix, else that for all."""
    dot = path.rfind(".")
    found = wrappers.get(path[dot:]) if dot >= 0 else None
    return found if found is not None else wrappers.get(ANY_SUFFIX)


def log_unreadable(r: Request, problem: BodyError) -> HookStatus:
    """Log why a request body cannot be read; return the status."""
    log_refusal(r, problem)
    r.log("warn", "mod_fcgid: can't get data from http client", module=MODULE, cause=problem.reason.cause)
    return problem.status
