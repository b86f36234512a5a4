"""mod_headers: modification of request and response fields.

Public: MODULE; files: lines (parsing), actions (compiled lines).
RequestHeader runs in the fix-up phase. Header is an output filter. It changes the table for all responses
(``always``) and then, for ordinary responses, the one for successful ones (``onsuccess``, the default).
``early`` lines of a server run as soon as the request has been read.
Must not import: server, cli.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.numbers import strip
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.log.error_log_line import LogLine, enabled
from whimbrel.engine.output.filter import FilterType, OutputFilter, add_output_filter
from whimbrel.modules.metadata.mod_headers.actions import compile_lines
from whimbrel.modules.metadata.mod_headers.lines import HeadersDirConfig, header, request_header
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import (
    DECLINED,
    FIXUPS,
    INSERT_ERROR_FILTER,
    INSERT_FILTER,
    OK,
    POST_READ_REQUEST,
    HookStatus,
)

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

Lines = Callable[[Any, Any], None]
_ERROR_FILTER: Final = LogLine(
    "debug", "headers: ap_headers_error_filter()", "AH01503", "headers", source="mod_headers.c(900)"
)


class FixupHeadersOut(OutputFilter):
    """Output filter FIXUP_HEADERS_OUT: the Header lines of ordinary responses."""

    __slots__ = ("_always", "_success")
    name = "FIXUP_HEADERS_OUT"
    type = FilterType.CONTENT_SET

    def __init__(self, always: Lines | None, success: Lines | None) -> None:
        self._always = always
        self._success = success

    def begin(self, r: Request) -> None:
        handler = r.handler
        if handler is None:  # httpd's filters run during the handler, whose name is then that of the type
            r.handler = strip((r.content_type or "").split(";", 1)[0]) or "default-handler"
        if self._always is not None:
            self._always(r.err_headers_out, r)
        if self._success is not None:
            self._success(r.headers_out, r)
        r.handler = handler


class FixupHeadersErr(OutputFilter):
    """Output filter FIXUP_HEADERS_ERR: the ``always`` lines of error pages."""

    __slots__ = ("_always", "_is_logged")
    name = "FIXUP_HEADERS_ERR"
    type = FilterType.CONTENT_SET

    def __init__(self, always: Lines, is_logged: bool) -> None:
        self._always = always
        self._is_logged = is_logged

    def begin(self, r: Request) -> None:
        if self._is_logged:
            r.engine.error_log.about_server(r.server, _ERROR_FILTER)
            r.set_uncacheable()  # each response is logged
        self._always(r.err_headers_out, r)


def make_early(scope: Scope) -> CompiledHook | None:
    """Run the ``early`` lines of the server."""
    conf = scope.dir_config(HeadersDirConfig)
    request, always, success = (
        compile_lines(lines, True) for lines in (conf.request, conf.always, conf.success)
    )
    if request is None and always is None and success is None:
        return None

    def early(r: Request) -> HookStatus:
        if request is not None:
            request(r.headers_in, r)
        if always is not None:
            always(r.err_headers_out, r)
        if success is not None:
            success(r.headers_out, r)
        return DECLINED

    return CompiledHook(early)


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Run RequestHeader."""
    request = compile_lines(scope.dir_config(HeadersDirConfig).request, False)
    if request is None:
        return None

    def fixup(r: Request) -> HookStatus:
        request(r.own_fields(), r)
        return DECLINED

    return CompiledHook(fixup)


def make_insert(scope: Scope) -> CompiledHook | None:
    """Insert the filter of an ordinary response."""
    conf = scope.dir_config(HeadersDirConfig)
    always = compile_lines(conf.always, False)
    success = compile_lines(conf.success, False)
    if always is None and success is None:
        return None

    return CompiledHook(_inserting(FixupHeadersOut(always, success)))


def make_insert_error(scope: Scope) -> CompiledHook | None:
    """Insert the filter of an error page."""
    always = compile_lines(scope.dir_config(HeadersDirConfig).always, False)
    if always is None:
        return None

    is_logged = scope.dialect.messages_24 and enabled(
        scope.server_config(CoreServerConfig).log_level, "headers", "debug"
    )
    return CompiledHook(_inserting(FixupHeadersErr(always, is_logged)))


def _inserting(added: OutputFilter) -> Callable[[Any], HookStatus]:
    def insert(r: Request) -> HookStatus:
        add_output_filter(r, added)
        return OK

    return insert


MODULE = Module(
    name="headers_module",
    source="mod_headers.c",
    dir_config=HeadersDirConfig,
    dir_setters={
        "Header": header,
        "RequestHeader": request_header,
    },
    hooks=(
        Hook(POST_READ_REQUEST, make_early, Order.FIRST),
        Hook(FIXUPS, make_fixup, Order.LAST),
        Hook(INSERT_FILTER, make_insert, Order.LAST),
        Hook(INSERT_ERROR_FILTER, make_insert_error, Order.LAST),
    ),
)
