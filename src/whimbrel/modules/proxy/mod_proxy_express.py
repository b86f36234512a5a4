"""mod_proxy_express: mass reverse proxying; a DBM file maps host names to back ends.

The directives are the server's, wherever they stand. Location fields of back ends pass unchanged: httpd adds
a ProxyPassReverse for none of them.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.spec import Versions
from whimbrel.engine import identity
from whimbrel.modules.support.setters import set_flag, set_path, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, REVERSE_PROXY, TRANSLATE_NAME, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE: Final = "proxy_express"


def either(base: bool, over: bool) -> bool:
    """Return True if one of both is: a virtual host cannot switch the main server's setting off."""
    return base or over


@dataclass(slots=True)
class ExpressServerConfig:
    """Per-server settings; the type of the main server's file does not pass to virtual hosts."""

    enabled: bool = setting(False, merge=either)
    file: str = setting("")
    kind: str = setting("default", merge=lambda _base, over: over)


def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook that maps the request by its host; None without ProxyExpressEnable."""
    conf = scope.server_config(ExpressServerConfig)
    if not conf.enabled:
        return None
    from whimbrel.modules.support.dbm.open import DbmFile, DbmUnreadable

    database = DbmFile(conf.file, conf.kind) if conf.file else None

    def translate(r: Request) -> HookStatus:
        r.log("debug", "proxy_express: Enabled", code="AH01001", module=_MODULE)
        if database is None or (r.filename or "").startswith("proxy:"):
            return DECLINED
        text = f"proxy_express: Opening DBM file: {conf.file} ({conf.kind})"
        r.log("debug", text, code="AH01002", module=_MODULE)
        try:
            hosts = database.content(r)
        except DbmUnreadable:
            return DECLINED
        name = identity.server_name(r)
        r.log("debug", f"proxy_express: looking for {name}", code="AH01003", module=_MODULE)
        backend = hosts.get(name)
        if backend is None:
            return DECLINED
        r.log("debug", f"proxy_express: found {name} -> {backend}", code="AH01004", module=_MODULE)
        r.filename, r.handler, r.proxy = f"proxy:{backend}{r.uri}", "proxy-server", REVERSE_PROXY
        r.log("debug", f"proxy_express: rewritten as: {r.filename}", code="AH01005", module=_MODULE)
        return OK

    return CompiledHook(translate, Reads.UNCACHEABLE)


MODULE: Final = Module(
    name="proxy_express_module",
    source="mod_proxy_express.c",
    versions=Versions.V24,
    server_config=ExpressServerConfig,
    server_setters={
        "ProxyExpressEnable": set_flag("enabled"),
        "ProxyExpressDBMFile": set_path("file"),
        "ProxyExpressDBMType": set_text("kind"),
    },
    hooks=(Hook(TRANSLATE_NAME, make_translate, Order.FIRST),),
)
