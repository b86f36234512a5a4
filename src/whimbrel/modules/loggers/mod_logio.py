"""mod_logio: the bytes of whole messages, %I, %O and %S, and the time to the first byte, %^FB.

They include heads: `Request.head` or `Connection.head_received` holds the size of the request's,
``head_bytes`` that of the response's.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.spec import Versions
from whimbrel.engine.redirect_chain import first_request
from whimbrel.modules.loggers.mod_log_config.items import ItemKind
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class LogIoDirConfig:
    """Per-directory settings: LogIOTrackTTFB."""

    track: bool = setting(False)


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook of LogIOTrackTTFB, which adds the filter; None if it is Off."""
    if not scope.dir_config(LogIoDirConfig).track:
        return None
    from whimbrel.engine.output.filter import add_output_filter
    from whimbrel.modules.loggers.first_byte import FIRST_BYTE

    def insert(r: Request) -> HookStatus:
        add_output_filter(r, FIRST_BYTE)
        return OK

    return CompiledHook(insert, Reads.HEAD)


def first_byte(r: Request) -> str | None:
    """Return the microseconds to the first byte; None without LogIOTrackTTFB."""
    return first_request(r).notes.get("logio-ttfb")


def bytes_in(r: Request) -> int:
    """Return the size of request line, fields and body as received.

    A body that Content-Length announces as too long is not read.  Bytes at which httpd's filters peek count
    twice.
    """
    first = first_request(r)
    connection = first.connection
    body = first.body_in
    head: int | None = connection.head_received
    if head is None:
        head = len(first.head.raw) if first.head is not None else 0
    is_refused = body.failure_reported and not body.count and body.length is not None
    received: int = head + (0 if is_refused else body.received + body.framing)
    peeked: int = connection.peeked[connection.served > 0]
    return received + peeked


def bytes_out(r: Request) -> int:
    """Return the size of head and body as sent."""
    first = first_request(r)
    return getattr(first, "head_bytes", 0) + first.bytes_sent


MODULE = Module(
    name="logio_module",
    source="mod_logio.c",
    dir_config=LogIoDirConfig,
    dir_setters={
        "LogIOTrackTTFB": set_flag("track"),
    },
    hooks=(Hook(INSERT_FILTER, make_insert, Order.LAST),),
    providers=(
        Provider("log_item", "^FB", ItemKind(lambda r, _a: first_byte(r), dynamic=True), Versions.V24),
        Provider("log_item", "I", ItemKind(lambda r, _a: str(bytes_in(r)), dynamic=True)),
        Provider(
            "log_item",
            "O",
            ItemKind(lambda r, _a: str(bytes_out(r)), dynamic=True, is_stable=True, sized=True),
        ),
        Provider(
            "log_item",
            "S",
            ItemKind(lambda r, _a: str(bytes_in(r) + bytes_out(r)), dynamic=True),
            Versions.V24,
        ),
    ),
)
