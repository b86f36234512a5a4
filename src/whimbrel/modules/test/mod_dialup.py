"""mod_dialup (2.4): sends files at the speed of a modem, one step a second.

httpd 2.4.71 leaves such a connection open when the file has been sent, and answers no further request on it;
here the response ends with its last byte.
"""

from __future__ import annotations

from stat import S_ISDIR
from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import size_of, sized
from whimbrel.modules.support.setters import set_choice
from whimbrel.modules.support.throttled_source import ThrottledSource
from whimbrel.registry.module import CompiledHook, Hook, Module, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

ALMOST_LAST: Final = 29  # the order before the default handler's
_GET: Final = 0
# Bytes per second by standard, which is compared in lower case.
_SPEEDS: Final = {
    "v.21": 12,
    "v.26bis": 300,
    "v.32": 1200,
    "v.34": 3600,
    "v.92": 7000,
    "i-was-rich-and-got-a-leased-line": 187500,
}


@dataclass(slots=True)
class DialupDirConfig:
    """Per-directory settings: bytes per second; 0: no limit."""

    speed: int = setting(0)


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler of files under ModemStandard; None without it."""
    from whimbrel.modules.core.handler import send_file

    speed = scope.dir_config(DialupDirConfig).speed
    if not speed:
        return None

    def handler(r: Request) -> HookStatus:
        if r.method_number != _GET or r.finfo is None or S_ISDIR(r.finfo.st_mode):
            return DECLINED
        status = send_file(r)
        if status != OK:
            return status
        if r.status in (304, 412):
            r.log(
                "error",
                "dialup: declined, meets conditions, good luck core handler",
                code="AH01869",
                module="dialup",
            )
        elif sum(map(size_of, sized(r.body))) >= speed:
            r.set_uncacheable()
            r.body = [ThrottledSource(r.body, speed, 1.0)]
        return OK

    return CompiledHook(handler)


MODULE = Module(
    name="dialup_module",
    source="mod_dialup.c",
    versions=Versions.V24,
    dir_config=DialupDirConfig,
    dir_setters={
        "ModemStandard": set_choice("speed", _SPEEDS, "mod_dialup: Unknown Modem Standard specified."),
    },
    hooks=(Hook(HANDLER, make_handler, ALMOST_LAST),),
)
