"""Directives of HTTP: keep-alive, strictness, methods, TRACE, protocols; traces of heads in the error log.

KeepAlive and its neighbours are in http_core.c's table, the others in core.c's. Manual:
mod/core.html#keepalive, #httpprotocoloptions, #protocols.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, merge_levels
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.http.syntax.url import escape_logitem
from whimbrel.modules.support.setters import (
    ON_OFF,
    add_text,
    own,
    set_choice,
    set_entry,
    set_flag,
    set_lower,
    set_number,
    timeout,
)
from whimbrel.registry.module import CompiledHook, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request


def set_keep_alive(cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set KeepAlive: 2.2 reads every word but Off and 0 as On."""
    word = words[0].lower()
    conf.keep_alive = word not in ("off", "0") if cmd.dialect.keepalive_any_word else word == "on"


def set_keep_alive_timeout(cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set KeepAliveTimeout: seconds or a time with a unit; 2.2 reads the digits only."""
    if cmd.dialect.lenient_values:
        conf.keep_alive_timeout = float(atoi(words[0]))
        return
    time = timeout(words[0])
    if time is None:
        raise ConfigError("KeepAliveTimeout has wrong format")
    conf.keep_alive_timeout = time / 1_000_000


_PAIRS = (
    ("allow_http09", ("Allow0.9", "Require1.0")),
    ("strict_http", ("Strict", "Unsafe")),
    ("registered_methods", ("RegisteredMethods", "LenientMethods")),
)
_PROTOCOL_WORDS = {word.lower(): (field, word is pair[0]) for field, pair in _PAIRS for word in pair}


def set_protocol_options(_cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set HttpProtocolOptions: at most one keyword of each pair."""
    option = _PROTOCOL_WORDS.get(words[0].lower())
    if option is None:
        raise ConfigError(
            "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), 'RegisteredMethods' or "
            "'LenientMethods' (default), "
            "and 'Require1.0' or 'Allow0.9' (default)"
        )
    field, value = option
    if getattr(conf, field) is (not value):
        first, second = next(pair for name, pair in _PAIRS if name == field)
        raise ConfigError(f"HttpProtocolOptions '{first}' and '{second}' are mutually exclusive")
    setattr(conf, field, value)


def register_methods(configuration: Configuration) -> None:
    """Add the methods of RegisterHttpMethod to the configuration."""
    for name in configuration.main.config(CoreServerConfig).registered:
        configuration.methods.register(name)


def set_protocols(_cmd: Command, conf: CoreServerConfig, words: list[str]) -> None:
    """Set Protocols: identifiers in order of preference; unimplemented ones are stored and never match."""
    known = own(conf, "protocols", list)
    if words[0] not in known:
        conf.protocols = [*known, words[0]]


HONOR_ORDER = set_choice("protocols_honor_order", ON_OFF, "ProtocolsHonorOrder must be 'on' or 'off'")
TRACE = set_choice(
    "trace_enable",
    {"off": 0, "on": 1, "extended": 2},
    "TraceEnable must be one of 'on', 'off', or 'extended'",
)

SERVER_SETTERS: Final[dict[str, Setter]] = {
    "HttpProtocolOptions": set_protocol_options,
    "RegisterHttpMethod": add_text("registered"),
    "TraceEnable": TRACE,
    "MergeTrailers": set_flag("merge_trailers"),
    "Protocols": set_protocols,
    "ProtocolsHonorOrder": HONOR_ORDER,
    "Protocol": set_lower("protocol"),
    "AcceptFilter": set_entry("accept_filters"),
}
HTTP_SERVER_SETTERS: Final[dict[str, Setter]] = {
    "KeepAliveTimeout": set_keep_alive_timeout,
    "MaxKeepAliveRequests": set_number("max_keep_alive"),
    "KeepAlive": set_keep_alive,
}


# traces ---------------------------------------------------------------------------------------------
def make_fields_in(scope: Scope) -> CompiledHook | None:
    """Make the hook that logs the fields of requests; only LogLevel http:trace4 has it."""
    if not _is_traced(scope, "trace4"):
        return None

    def fields_in(r: Request) -> HookStatus:
        if r.prev is not None:
            return DECLINED
        r.set_uncacheable()  # each request has its own fields
        r.log("trace4", "Headers received from client:", module="http")
        _log_fields(r, r.headers_in, "http_request.c(438)")
        return DECLINED

    return CompiledHook(fields_in)


def make_fields_out(scope: Scope) -> CompiledHook | None:
    """Make the hook that logs status and fields of responses at trace3 and trace4."""
    if not _is_traced(scope, "trace3"):
        return None

    def fields_out(r: Request) -> HookStatus:
        sent = r
        while sent.next is not None and not sent.is_committed:
            sent = sent.next
        if not (r.assbackwards or r.head is None):
            r.log("trace3", f"Response sent with status {sent.status}, headers:", module="http")
            _log_fields(r, sent.headers_out, "http_filters.c(971)")
        return OK

    return CompiledHook(fields_out)


def _is_traced(scope: Scope, level: str) -> bool:
    levels = merge_levels(
        scope.server_config(CoreServerConfig).log_level, scope.dir_config(CoreDirConfig).log_level
    )
    return scope.dialect.messages_24 and enabled(levels, "http", level)


def _log_fields(r: Request, fields: Iterable[tuple[str, str]], source: str) -> None:
    """Log *fields* as lines about *r*."""
    for name, value in fields:
        shown = f"  {escape_logitem(name)}: {escape_logitem(value)}"
        r.log("trace4", shown, module="http", source=source)
