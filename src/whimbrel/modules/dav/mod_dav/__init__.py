"""mod_dav: WebDAV (RFC 4918) on the resources of a provider.

Files: settings; handler (the table of methods), propfind, proppatch, properties, methods (PUT to MOVE),
lock_methods, options; validation and if_header (conditions); locks (the lock database); xml_document,
multistatus, errors, fields, uri; provider (what a repository implements).
Must not import: server, cli.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.modules.dav.mod_dav.settings import (
    HANDLER_NAME,
    DavDirConfig,
    set_provider,
)
from whimbrel.modules.support.setters import set_flag, set_in_range, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope, lazy_maker
from whimbrel.registry.phases import DECLINED, FIXUPS, HANDLER, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_GET = 0
_POST = 2


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook that chooses the handler for all methods but GET and POST."""
    conf = scope.dir_config(DavDirConfig)
    if conf.provider is None:
        return None
    conflict = conf.conflict

    def fixup(r: Request) -> HookStatus:
        if conflict is not None:
            r.log("error", conflict[1], code=conflict[0], module="dav")
        if r.method_number in (_GET, _POST) or (r.assbackwards and r.main is None):
            return DECLINED
        r.handler = HANDLER_NAME
        return OK

    methods = ~(1 << _GET | 1 << _POST) if conflict is None else -1
    return CompiledHook(fixup, Reads.FIELDS, methods=methods)


def register_methods(configuration: Configuration) -> None:
    """Register the methods of mod_dav that the core does not know."""
    for name in ("BIND", "SEARCH"):
        configuration.methods.register(name)


MODULE = Module(
    name="dav_module",
    source="mod_dav.c",
    dir_config=DavDirConfig,
    dir_setters={
        "DAV": set_provider,
        "DAVBasePath": set_text("base_path"),
        "DAVMinTimeout": set_in_range(
            "min_timeout", 0, None, "DAVMinTimeout requires a non-negative integer."
        ),
        "DAVDepthInfinity": set_flag("depth_infinity"),
        "DAVLockDiscovery": set_flag("lock_discovery"),
    },
    hooks=(
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
        Hook(HANDLER, lazy_maker("whimbrel.modules.dav.mod_dav.handler", "make_handler"), Order.MIDDLE),
    ),
    post_config=(register_methods,),
)
