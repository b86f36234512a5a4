"""Handlers of mod_php: scripts, source in colours, and the executable bit (php_handler of sapi_apache2.c)."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from stat import S_ISDIR, S_IXUSR
from typing import Final

from whimbrel.backends.connection import FOREVER
from whimbrel.backends.fastcgi import PROXY_FCGI, FastcgiMessages
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.base.programs import may_start_programs, report
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.core.handler import set_last_modified
from whimbrel.modules.php.mod_php.exchange import NO_RESPONSE, PhpRequest
from whimbrel.modules.php.mod_php.ini_sets import (
    BadSettings,
    IniSet,
    PhpFacts,
    SetFile,
    document_root_for,
    select,
)
from whimbrel.modules.php.mod_php.interpreter import PhpPool
from whimbrel.modules.php.mod_php.processes import START_TIMEOUT, connect, facts, script_file
from whimbrel.modules.php.mod_php.settings import PhpDirConfig, Settings, is_on
from whimbrel.modules.support.body_sender import SpooledInput
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.support.fastcgi_request import log_refusal
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus

SOURCE: Final = "application/x-httpd-php-source"
HIGHLIGHTER: Final = "highlight.php"
_HIGHLIGHT: Final = b'<?php highlight_file($_SERVER["WHIMBREL_SOURCE"]);\n'
_RESERVED: Final = frozenset(("PHP_VALUE", "PHP_ADMIN_VALUE", "REDIRECT_URL", "HTTP_AUTHORIZATION"))


class PhpHandler:
    """The handler for one merged configuration.

    Attributes:
        names: handlers that it takes. `module`: the name in the log, php7 or php.
    """

    def __init__(self, settings: Settings, module: str, *, has_bit: bool) -> None:
        self.settings = settings
        self.has_bit = has_bit
        self.is_dated = is_on(settings, "last_modified", False)
        self.messages: FastcgiMessages = replace(PROXY_FCGI, module=module, status=500)
        self._chosen: _Settings | None = None

    async def run(self, r: Request) -> HookStatus:
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

    def _is_executable(self, r: Request) -> bool:
        return self.has_bit and r.finfo is not None and bool(r.finfo.st_mode & S_IXUSR)

    async def _exchange(self, r: Request) -> HookStatus:
        report("", makes_response=r.main is None)
        manager: ProcessManager | None = r.engine.runtime.program("php")
        if manager is None and not may_start_programs():
            return stand_in_answer(r, "text/html")
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
            settings = await self._prepare_settings(r, manager)
            # PHP lists the last variable first
            variables = list(dict(self._variables(r, manager, settings)).items())[::-1]
            self._prepare(r)
            if spooled is None and r.method in ("GET", "HEAD") and not r.body_in.length:
                exchange = await self._new_exchange(r, manager, settings)
                try:
                    return await exchange.run(variables, FOREVER)
                except BackendError:
                    if exchange.connection.has_answered:
                        raise
                # the process was killed before it took the request: another one answers
            exchange = await self._new_exchange(r, manager, settings)
            if spooled is not None:
                exchange.body = spooled
            return await exchange.run(variables, FOREVER)
        except BodyError as problem:
            log_refusal(r, problem)
            return problem.status
        except TimeoutError:
            text = f"no process of PHP took a connection in {START_TIMEOUT:.0f} seconds"
            r.log("error", text, module=self.messages.module)
            return 503
        except (BadSettings, OSError) as problem:
            r.log("error", str(problem), module=self.messages.module)
            return 500
        except BackendError as problem:
            r.log("error", NO_RESPONSE, module=self.messages.module)
            return problem.status

    async def _new_exchange(self, r: Request, manager: ProcessManager, settings: _Settings) -> PhpRequest:
        """Return an exchange on a new connection. Raises TimeoutError."""
        connection = await connect(r.engine, manager, settings.program)
        exchange = PhpRequest(r, connection, self.messages)
        exchange.hidden = settings.hidden
        return exchange

    def _prepare(self, r: Request) -> None:
        """Remove what belongs to the file, and set the user, as libphp does (php_apache_request_ctor)."""
        r.no_local_copy = True
        for name in ("Content-Length", "Last-Modified", "Expires", "ETag"):
            r.headers_out.unset(name)
        credentials = basic_credentials(r.headers_in.get("Authorization"))
        if credentials is not None:
            r.user = credentials
        if self.is_dated and r.finfo is not None:
            modified = r.finfo.st_mtime_ns // 1000
            r.mtime = modified if r.mtime is None else max(r.mtime, modified)
            set_last_modified(r)

    def _variables(
        self, r: Request, manager: ProcessManager, settings: _Settings
    ) -> Iterator[tuple[str, str]]:
        """Yield what PHP reads: $_SERVER of libphp has the same.

        A name with a dot becomes one with an underscore in $_SERVER, and has no other effect: php-fpm takes
        REDIRECT_URL for a sign that PATH_INFO is not to be trusted.
        """
        for name, value in r.env.items():
            if name.partition("\0")[0] not in _RESERVED:  # a NUL ends the name of a parameter
                yield name, value
            elif name == "REDIRECT_URL":
                yield "REDIRECT.URL", value
        authorization = r.headers_in.get("Authorization")
        if authorization is not None:
            yield "HTTP_AUTHORIZATION", authorization
        elif r.user is not None:
            yield "PHP_AUTH_USER", r.user
        if r.handler == SOURCE:
            yield "SCRIPT_FILENAME", script_file(manager, HIGHLIGHTER, _HIGHLIGHT)
            yield "WHIMBREL_SOURCE", r.filename or ""
        if settings.file is not None:
            yield "DOCUMENT_ROOT", document_root_for(r.filename or "", r.env.get("DOCUMENT_ROOT", ""))
        if settings.parameter:
            yield "PHP_ADMIN_VALUE", settings.parameter

    async def _prepare_settings(self, r: Request, manager: ProcessManager) -> _Settings:
        """Return what PHP needs for the settings, whose file exists afterwards.

        Raises BadSettings, BackendError, OSError or TimeoutError.
        """
        settings = self._chosen
        if settings is None:
            known = await facts(r.engine, manager)
            settings = _Settings(select(self.settings, known), known, manager)
            self._chosen = settings
        if settings.file is not None:
            settings.file.prepare()
            settings.file.check_script(r.filename or "")
        return settings


class _Settings:
    """The settings of one merged configuration as PHP gets them.

    Attributes:
        program: the processes for them. `file`: of the php_value lines, None without any.
        parameter: PHP_ADMIN_VALUE, "" for none.
        hidden: the X-Powered-By that responses do not have, "" for none.
    """

    def __init__(self, ini_set: IniSet, known: PhpFacts, manager: ProcessManager) -> None:
        pool: PhpPool = manager.context
        self.program = pool.program(ini_set, manager.directory)
        self.file = SetFile(ini_set.values, manager.directory) if ini_set.values else None
        more = {} if self.file is None else {"user_ini.filename": self.file.name}
        self.parameter = ini_set.parameter(more) if pool.interpreter.is_fpm else ""
        self.hidden = "" if ini_set.is_exposed else f"PHP/{known.version}"


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
