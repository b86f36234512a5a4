"""mod_ident: the user of a connection, by name, as port 113 of the client's host gives it (RFC 1413).

httpd looks the name up when a log, a program or a rule first reads it. Here that is done before the URL is
mapped to a file, once for each connection; `%l` and REMOTE_IDENT read the result. The timeout is that of the
whole look-up; a negative one, which has no end in httpd, is the default.
"""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import decimal
from whimbrel.directives.command import Command
from whimbrel.engine.connection import REMOTE_IDENT_NOTE, Connection
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.modules.support.setters import set_flag, set_number
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HEADER_PARSER, POST_READ_REQUEST, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

PORT: Final = 113
MAX_REPLY: Final = 1000  # bytes that are read of a reply
DEFAULT_TIMEOUT: Final = 30
UNKNOWN: Final = "unknown"
_ENABLED: Final = ("ident", "enabled")  # provider that a line `IdentityCheck On` registers
_REPLY: Final = re.compile(
    rb"\s*\+?(\d{1,5})\s*,\s*\+?(\d{1,5})\s*:\s*USERID\s*:[^:]+:\s*([^\s\0]{1,512})"
).match


class IdentError(Exception):
    """Error: the reply could not be read; *cause* is what httpd logs."""

    def __init__(self, cause: str) -> None:
        super().__init__(cause)
        self.cause = cause


@dataclass(slots=True)
class IdentDirConfig:
    """Per-directory settings: IdentityCheck, IdentityCheckTimeout in seconds."""

    enabled: bool = setting(False)
    timeout: int = setting(DEFAULT_TIMEOUT)


_set_enabled = set_flag("enabled")


def set_check(cmd: Command, conf: IdentDirConfig, words: list[str]) -> None:
    """IdentityCheck: with On anywhere, no response is cached, as the name belongs to a connection."""
    _set_enabled(cmd, conf, words)
    if conf.enabled:
        cmd.register_provider(*_ENABLED, True)


def user_of(reply: bytes, client_port: int, local_port: int) -> str:
    """Return the user in *reply*; UNKNOWN if it has none, or is about other ports."""
    match = _REPLY(reply.partition(b"\0")[0])
    if match is None or (decimal(to_text(match[1])), decimal(to_text(match[2]))) != (client_port, local_port):
        return UNKNOWN
    return to_text(match[3])


async def query_user(connection: Connection, timeout: float) -> str:
    """Return the user's name, at most *timeout* seconds later; UNKNOWN if there is no service.

    Raises:
        IdentError: there is one, and its reply could not be read.
    """
    import asyncio  # its import takes 40 ms, which -t must not pay

    return await asyncio.create_task(_query(connection, timeout))  # only a task can have a timeout


async def _query(connection: Connection, timeout: float) -> str:
    import asyncio

    writer: Any = None
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection(
                connection.client_ip, PORT, local_addr=(connection.local_ip, 0), limit=MAX_REPLY
            )
            writer.write(b"%d,%d\r\n" % (connection.client_port, connection.local_port))
            reply = b""
            while b"\n" not in reply and len(reply) < MAX_REPLY:
                data = await reader.read(MAX_REPLY - len(reply))
                if not data:
                    raise IdentError("(70014)End of file found")
                reply += data
    except TimeoutError:
        if writer is None:
            return UNKNOWN
        raise IdentError("(70007)The timeout specified has expired") from None
    except OSError as problem:
        if writer is None:
            return UNKNOWN
        number = problem.errno or errno.EIO
        raise IdentError(f"({number}){os.strerror(number)}") from None
    finally:
        if writer is not None:
            writer.transport.abort()
    return user_of(reply, connection.client_port, connection.local_port)


def make_lookup(scope: Scope) -> CompiledHook | None:
    """Make the hook that looks up the name; None if no line has `IdentityCheck On`."""
    if not scope.provider(*_ENABLED):
        return None
    conf = scope.dir_config(IdentDirConfig)
    enabled = conf.enabled
    timeout = conf.timeout if conf.timeout >= 0 else DEFAULT_TIMEOUT

    async def lookup(r: Request) -> HookStatus:
        notes = r.connection.notes
        r.set_uncacheable()
        if enabled and REMOTE_IDENT_NOTE not in notes:
            notes[REMOTE_IDENT_NOTE] = UNKNOWN  # for other requests of the connection, until it is known
            try:
                notes[REMOTE_IDENT_NOTE] = await query_user(r.connection, timeout)
            except IdentError as problem:
                line = LogLine(
                    "crit", "read: rfc1413: error reading response", "AH01498", "ident", problem.cause
                )
                r.engine.error_log.about_server(r.server, line)
        return DECLINED

    return CompiledHook(lookup, Reads.UNCACHEABLE, is_async=True)


MODULE = Module(
    name="ident_module",
    source="mod_ident.c",
    dir_config=IdentDirConfig,
    dir_setters={
        "IdentityCheck": set_check,
        "IdentityCheckTimeout": set_number("timeout"),
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_lookup, Order.MIDDLE),
        Hook(HEADER_PARSER, make_lookup, Order.REALLY_FIRST),
    ),
)
