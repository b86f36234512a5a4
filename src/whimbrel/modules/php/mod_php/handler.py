"""Handlers of mod_php: scripts, source in colours, and the executable bit (php_handler of sapi_apache2.c)."""

from __future__ import annotations

import asyncio
import os
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from stat import S_ISDIR, S_IXUSR
from typing import Any, Final

from whimbrel.backends.connection import FOREVER, BackendConnection
from whimbrel.backends.fastcgi import PROXY_FCGI, FastcgiMessages
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.http.client.answer import BackendError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.core.handler import set_last_modified
from whimbrel.modules.php.mod_php.interpreter import PhpPool, write_file
from whimbrel.modules.php.mod_php.settings import PhpDirConfig, Settings, is_on
from whimbrel.modules.support.body_sender import SpooledInput
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.modules.support.fastcgi_request import FastcgiRequest, log_refusal
from whimbrel.modules.support.processes.lease import connection_pool
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.processes.program import ProgramClass
from whimbrel.modules.support.processes.table import ProcessRecord
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

SOURCE: Final = "application/x-httpd-php-source"
START_TIMEOUT: Final = 30.0  # seconds in which the processes of a set of settings must take a connection
POLL: Final = 0.01  # seconds between two attempts to connect
HIGHLIGHTER: Final = "highlight.php"
_HIGHLIGHT: Final = b'<?php highlight_file($_SERVER["WHIMBREL_SOURCE"]);\n'
_RESERVED: Final = frozenset(("PHP_VALUE", "PHP_ADMIN_VALUE", "REDIRECT_URL", "HTTP_AUTHORIZATION"))
_MESSAGE: Final = "PHP message: "
_LEVELS: Final = (
    ("warn", ("PHP Warning:", "PHP Core Warning:", "PHP Compile Warning:", "PHP User Warning:")),
    ("error", ("PHP Fatal error:", "PHP Parse error:", "PHP Recoverable fatal error:", "PHP Catchable")),
    ("info", ("PHP Deprecated:", "PHP Strict Standards:")),
)


class PhpHead(ScriptHead):
    """The fields of a script as libphp sets them: all in headers_out, in order, with Content-Length."""

    def _field(self, name: str, value: str) -> None:
        low = lower(name)
        if low in ("content-type", "status"):
            super()._field(name, value)
        else:
            self.r.headers_out.add(name, value)


class PhpRequest(FastcgiRequest):
    """One request to PHP."""

    def head_reader(self) -> ScriptHead:
        """See FastcgiRequest."""
        return PhpHead(self.r, self.messages.module)

    def log_stderr(self, text: str) -> None:
        """Log messages of PHP at the levels of libphp."""
        for message in text.split(_MESSAGE):
            line = message.rstrip("\n").removesuffix("; ").rstrip("\n")
            if line:
                self.r.log(level_of_message(line), line, module=self.messages.module)


def level_of_message(line: str) -> str:
    """Return the level at which libphp logs a message of PHP."""
    return next((level for level, starts in _LEVELS if line.startswith(starts)), "notice")


class PhpHandler:
    """The handler for one merged configuration.

    Attributes:
        names: handlers that it takes. `module`: the name in the log, php7 or php.
    """

    def __init__(self, settings: Settings, module: str, *, has_bit: bool) -> None:
        self.settings = settings
        self.has_bit, self.is_dated = has_bit, is_on(settings, "last_modified", False)
        self.messages: FastcgiMessages = replace(PROXY_FCGI, module=module, status=500)
        self._program: ProgramClass | None = None

    async def run(self, r: Any) -> HookStatus:
        """Answer *r* by its script."""
        if r.handler == "text/html" and not self._is_executable(r):
            return DECLINED
        if r.used_path_info == 0 and r.path_info:
            return 404
        if r.finfo is None:
            text = f"script '{r.filename}' not found or unable to stat"
            r.log("error", text, module=self.messages.module)
            return 404
        if S_ISDIR(r.finfo.st_mode):
            text = f"attempt to invoke directory '{r.filename}' as script"
            r.log("error", text, module=self.messages.module)
            return 403
        r.set_uncacheable()
        add_common_vars(r)
        await add_cgi_vars(r)
        return await self._exchange(r)

    def _is_executable(self, r: Any) -> bool:
        return self.has_bit and r.finfo is not None and bool(r.finfo.st_mode & S_IXUSR)

    async def _exchange(self, r: Any) -> HookStatus:
        manager: ProcessManager | None = r.engine.runtime.program("php")
        if manager is None:
            r.log("error", "no process of PHP: the server has not started any", module=self.messages.module)
            return 503
        spooled = None
        if r.body_in.length is None or (r.body_in.is_filtered and r.body_in.length):
            spooled = SpooledInput()
        try:
            if spooled is not None:
                await spooled.fill(r)
                r.env["CONTENT_LENGTH"] = str(spooled.length)
            variables = list(dict(self._variables(r, manager)).items())[::-1]  # PHP lists the last first
            self._prepare(r)
            if spooled is None and r.method in ("GET", "HEAD") and not r.body_in.length:
                connection = await self._connect(r, manager)
                try:
                    return await PhpRequest(r, connection, self.messages).run(variables, FOREVER)
                except BackendError:
                    if connection.has_answered:
                        raise
                # the process was killed before it took the request: another one answers
            exchange = PhpRequest(r, await self._connect(r, manager), self.messages)
            if spooled is not None:
                exchange.body = spooled
            return await exchange.run(variables, FOREVER)
        except BodyError as problem:
            log_refusal(r, problem)
            return problem.status
        except BackendError as problem:
            r.log("error", "the process of PHP ended before its response", module=self.messages.module)
            return problem.status
        except TimeoutError:
            text = f"no process of PHP took a connection in {START_TIMEOUT:.0f} seconds"
            r.log("error", text, module=self.messages.module)
            return 503

    def _prepare(self, r: Any) -> None:
        """Remove what belongs to the file, and set the user, as libphp does (php_apache_request_ctor)."""
        r.no_local_copy = True
        for name in ("Content-Length", "Last-Modified", "Expires", "ETag"):
            r.headers_out.unset(name)
        credentials = basic_credentials(r.headers_in.get("Authorization"))
        if credentials is not None:
            r.user = credentials
        if self.is_dated:
            modified = r.finfo.st_mtime_ns // 1000
            r.mtime = modified if r.mtime is None else max(r.mtime, modified)
            set_last_modified(r)

    def _variables(self, r: Any, manager: ProcessManager) -> Iterator[tuple[str, str]]:
        """Yield what PHP reads: $_SERVER of libphp has the same.

        A name with a dot becomes one with an underscore in $_SERVER, and has no other effect: php-fpm takes
        REDIRECT_URL for a sign that PATH_INFO is not to be trusted.
        """
        for name, value in r.env.items():
            if name not in _RESERVED:
                yield name, value
            elif name == "REDIRECT_URL":
                yield "REDIRECT.URL", value
        authorization = r.headers_in.get("Authorization")
        if authorization is not None:
            yield "HTTP_AUTHORIZATION", authorization
        elif r.user is not None:
            yield "PHP_AUTH_USER", r.user
        if r.handler == SOURCE:
            yield "SCRIPT_FILENAME", _highlighter(manager)
            yield "WHIMBREL_SOURCE", r.filename

    async def _connect(self, r: Any, manager: ProcessManager) -> BackendConnection:
        """Return a connection to the processes for the settings. Raises TimeoutError."""
        program = self._program
        if program is None:
            pool: PhpPool = manager.context
            program = self._program = pool.program(self.settings, manager.directory)
        loop = asyncio.get_running_loop()
        until, is_requested = loop.time() + START_TIMEOUT, 0.0
        connections = connection_pool(r.engine)
        while (left := until - loop.time()) > 0:
            record: ProcessRecord | None = manager.table.use(program.key)
            if record is not None:
                path = manager.socket_of(record.serial)
                try:
                    return await connections.acquire(r.engine.runtime, path, timeout=left)
                except OSError:
                    pass  # the process is about to be replaced, or takes no more connections for now
            elif loop.time() - is_requested > 1.0:
                is_requested = loop.time()
                manager.request_start(program)
            await asyncio.sleep(POLL)
        raise TimeoutError


def _highlighter(manager: ProcessManager) -> str:
    """Return the path of the script that shows the source of another."""
    path = os.path.join(manager.directory, HIGHLIGHTER)
    if not os.path.exists(path):
        write_file(path, _HIGHLIGHT)
    return path


def basic_credentials(field: str | None) -> str | None:
    """Return the user of an Authorization field with Basic credentials, as PHP_AUTH_USER has it."""
    if field is None or lower(field[:6]) != "basic ":
        return None
    try:
        user, colon, _ = to_text(b64decode(field[6:].strip(" \t"))).partition(":")
    except (Base64Error, ValueError):
        return None
    return user if colon else None


def make_handler(scope: Scope, module: str, names: tuple[str, ...]) -> CompiledHook | None:
    """Return the hook of the module *module*; None where the engine is off."""
    settings = scope.dir_config(PhpDirConfig).ini
    if not is_on(settings, "engine", True):
        return None
    has_bit = is_on(settings, "xbithack", False)
    handler = PhpHandler(settings, module, has_bit=has_bit)
    taken = (*names, "text/html") if has_bit else names
    return CompiledHook(handler.run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(taken))
