"""mod_dav: WebDAV (RFC 4918) on the resources of a provider.

Files: settings; handler (the table of methods), propfind, proppatch, properties, methods (PUT to MOVE),
lock_methods, options; validation and if_header (conditions); locks (the lock database); xml_document,
multistatus, errors, fields, uri; provider (what a repository implements).
Manual: mod/mod_dav.html.  Must not import: server, cli.
"""

from __future__ import annotations

from typing import Any

from whimbrel.directives.spec import Args, Context, Directive, Versions
from whimbrel.modules.dav.mod_dav.settings import (
    HANDLER_NAME,
    DavDirConfig,
    set_min_timeout,
    set_provider,
)
from whimbrel.modules.support.setters import set_flag, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope, lazy_maker
from whimbrel.registry.phases import DECLINED, FIXUPS, HANDLER, OK, HookStatus

_GET, _POST = 0, 2


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook that chooses the handler for all methods but GET and POST."""
    conf = scope.dir_config(DavDirConfig)
    if conf.provider is None:
        return None
    conflict = conf.conflict

    def fixup(r: Any) -> HookStatus:
        if conflict is not None:
            r.log("error", conflict[1], code=conflict[0], module="dav")
        if r.method_number in (_GET, _POST) or (r.assbackwards and r.main is None):
            return DECLINED
        r.handler = HANDLER_NAME
        return OK

    methods = ~(1 << _GET | 1 << _POST) if conflict is None else -1
    return CompiledHook(fixup, Reads.FIELDS, methods=methods)


def register_methods(configuration: Any) -> None:
    """Register the methods of mod_dav that the core does not know."""
    for name in ("BIND", "SEARCH"):
        configuration.methods.register(name)


_ANYWHERE = Context.ACCESS_CONF | Context.RSRC_CONF
MODULE = Module(
    name="dav_module",
    source="mod_dav.c",
    dir_config=DavDirConfig,
    directives=(
        Directive(
            name="DAV",
            args=Args.TAKE1,
            where=Context.ACCESS_CONF,
            apply=set_provider,
            help="specify the DAV provider for a directory or location",
        ),
        Directive(
            name="DAVBasePath",
            args=Args.TAKE1,
            where=Context.ACCESS_CONF,
            apply=set_text("base_path"),
            versions=Versions.V24,
            help="specify the DAV repository base URL",
        ),
        Directive(
            name="DAVMinTimeout",
            args=Args.TAKE1,
            where=_ANYWHERE,
            apply=set_min_timeout,
            help="specify minimum allowed timeout",
        ),
        Directive(
            name="DAVDepthInfinity",
            args=Args.FLAG,
            where=_ANYWHERE,
            apply=set_flag("depth_infinity"),
            help="allow Depth infinity PROPFIND requests",
        ),
        Directive(
            name="DAVLockDiscovery",
            args=Args.FLAG,
            where=_ANYWHERE,
            apply=set_flag("lock_discovery"),
            versions=Versions.V24,
            help="allow lock discovery by PROPFIND requests",
        ),
    ),
    hooks=(
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
        Hook(HANDLER, lazy_maker("whimbrel.modules.dav.mod_dav.handler", "make_handler"), Order.MIDDLE),
    ),
    post_config=(register_methods,),
)
