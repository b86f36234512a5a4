"""mod_status: the state of the workers, as a page and as ``key: value`` lines, and for Prometheus.

`state` reads the runtime's scoreboard, `page` and `metrics` format it.
"""

from __future__ import annotations

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_digits, strtol
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.generators.mod_status.state import State as StateNow

HANDLER_NAME = "server-status"
METRICS_NAME = "whimbrel-metrics"
SECTIONS = ("proxy", "ssl", "md")
BUFFER = 8192  # a longer page is sent before its length is known
TYPE = "application/x-httpd-status"
TEXT = {"": "text/html; charset=ISO-8859-1", "auto": "text/plain; charset=ISO-8859-1"}


@dataclass(slots=True)
class StatusServerConfig:
    """Per-server settings of 2.2; in 2.4 they are the core's."""

    extended: bool = setting(False)
    tail: bool = setting(False)


def options(args: str | None) -> tuple[int | None, bool, bool]:
    """Return (seconds of ``refresh`` or None, True if a table is requested, ``auto``) of a query.

    The words may occur anywhere in it.
    """
    text = args or ""
    refresh = None
    at = text.find("refresh")
    if at >= 0:
        digits = ""
        if text[at + 7 : at + 8] == "=":
            for char in text[at + 8 :]:
                if not is_digits(char):
                    break
                digits += char
        refresh = strtol(digits)[0] or 10
    return refresh, "notable" not in text, "auto" in text


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handlers server-status and whimbrel-metrics."""
    from whimbrel.modules.generators.mod_status import json_output
    from whimbrel.modules.generators.mod_status.page import Names, auto, page
    from whimbrel.modules.generators.mod_status.state import State

    new = not scope.dialect.pages_22
    # of other modules (httpd's status_hook): functions of the request and of True for ``auto``
    sections = [section for name in SECTIONS if (section := scope.provider("status", name)) is not None]
    extended = (
        scope.server_config(MpmConfig).extended_status is not False
        if new
        else scope.server_config(StatusServerConfig).extended
    )

    def handle_metrics(r: Request) -> HookStatus:
        try:
            from whimbrel.modules.generators.mod_status.metrics import TYPE as METRICS_TYPE
            from whimbrel.modules.generators.mod_status.metrics import document
        except ImportError:
            from whimbrel.base.extras import not_installed

            r.log("error", not_installed(f"SetHandler {METRICS_NAME}", "metrics"), module="status")
            return 500
        r.content_type = METRICS_TYPE
        r.set_uncacheable()
        r.write(document(Names(r), State(r, extended)))
        return OK

    def handle(r: Request) -> HookStatus:
        if r.handler == METRICS_NAME and r.method_number == 0:
            return handle_metrics(r)
        if r.handler != HANDLER_NAME and r.handler != TYPE:
            return DECLINED
        r.allowed |= 1
        if r.method_number != 0:
            return DECLINED
        state = State(r, extended)
        refresh, table, plain = options(r.args)
        if refresh is not None:
            r.headers_out.set("Refresh", str(refresh))
        as_json = json_output.wanted(r.args)
        r.content_type = json_output.TYPE if as_json else TEXT["auto" if plain else ""]
        if r.header_only or not state.shared:
            r.set_uncacheable()
        names = Names(r)

        def shown(state: StateNow) -> bytes:
            if as_json:
                return to_bytes(json_output.document(names, state, new))
            more = "".join(section(r, plain) for section in sections)
            return to_bytes(auto(names, state, new) + more if plain else page(names, state, new, table, more))

        text = shown(state)
        # httpd's table has a row for each slot that was ever used: after some requests it exceeds the buffer
        is_long = r.header_only and not (plain or as_json)
        chunked = is_long or len(text) > BUFFER
        r.chunked = chunked

        def remake() -> bytes:
            text = shown(State(r, extended))
            return text if (len(text) > BUFFER) is chunked else b""

        r.body_factory = remake
        r.write(text)
        return OK

    return CompiledHook(handle, Reads.HEAD, handlers=frozenset((HANDLER_NAME, METRICS_NAME, TYPE)))


MODULE = Module(
    name="status_module",
    source="mod_status.c",
    server_config=StatusServerConfig,
    server_setters={
        "ExtendedStatus": set_flag("extended"),
        "SeeRequestTail": set_flag("tail"),
    },
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
