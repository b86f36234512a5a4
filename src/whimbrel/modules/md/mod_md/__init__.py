"""mod_md (2.4): managed domains, whose certificates come from an authority that speaks ACME (RFC 8555).

The master installs staged certificates at each start and gives mod_ssl their files (`start`, `activation`);
a thread of one worker renews (`driver`, `renewal`), all workers answer challenges from the store (`store`).
Needs the packages `acme` and `cryptography` (extra "acme") where domains are defined.
"""

from __future__ import annotations

from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.directives.spec import Versions
from whimbrel.modules.md.mod_md.setters import SERVER_SETTERS
from whimbrel.modules.md.mod_md.settings import MdGlobalConfig, MdServerConfig
from whimbrel.registry.module import CompiledHook, Hook, HookMaker, Module, Order, Provider, Scope, importer
from whimbrel.registry.phases import HANDLER, POST_READ_REQUEST
from whimbrel.registry.settings import UNSET

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.config.model import Server
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.request import Request, RequestEngine

_PACKAGE: Final = "whimbrel.modules.md.mod_md"
_imported = importer(_PACKAGE)
_SSL: Final = ("mod_ssl.c", "mod_tls.c")


def _is_used(configuration: Configuration) -> bool:
    record = configuration.main.records.get(MdGlobalConfig)
    return record is not None and record.definitions is not UNSET and bool(record.definitions)


def begin(configuration: Configuration) -> None:
    """Set up store and domains, unless mod_ssl has needed them before."""
    if _is_used(configuration):
        _imported("start", "begin")(configuration)


def finish(configuration: Configuration) -> None:
    """Complete domains once mod_ssl knows its servers."""
    if _is_used(configuration):
        _imported("start", "finish")(configuration)


def certificates(configuration: Configuration, server: Server, *, fallback: bool) -> Any:
    """Return files of certificates for mod_ssl (start.certificates)."""
    if not _is_used(configuration):
        return []
    return _imported("start", "certificates")(configuration, server, fallback=fallback)


def challenge(configuration: Configuration, connection: Connection, server: Server, name: str) -> Any:
    """Return the answer to tls-alpn-01 for mod_ssl (tls_alpn.answer)."""
    return _imported("tls_alpn", "answer")(configuration, connection, server, name)


def section(r: Request, is_plain: bool) -> Any:
    """Return the part of server-status (hooks.section)."""
    if not _is_used(r.engine.configuration):
        return ""
    return _imported("hooks", "section")(r, is_plain)


async def worker_begins(engine: RequestEngine) -> None:
    """Watch the domains from one worker."""
    if _is_used(engine.configuration):
        await _imported("worker", "begin")(engine)


async def worker_ends(engine: RequestEngine) -> None:
    """End renewals of this worker."""
    if _is_used(engine.configuration):
        await _imported("worker", "end")(engine)


def _maker(name: str) -> HookMaker:
    """Return the hook maker hooks.*name*; without managed domains the packages are not needed."""

    def make(scope: Scope) -> CompiledHook | None:
        if scope.provider("md", "manager") is None:
            return None
        maker: HookMaker = _imported("hooks", name)
        return maker(scope)

    return make


def libraries(configuration: Configuration) -> list[str]:
    """Return the files and libraries that workers need."""
    if not _is_used(configuration):
        return []
    names = ("acme_client", "hooks", "status_page", "tls_alpn", "worker")
    return [f"{_PACKAGE}.{name}" for name in names]


MODULE: Final = Module(
    name="md_module",
    source="mod_md.c",
    versions=Versions.V24,
    server_config=MdServerConfig,
    server_setters=SERVER_SETTERS,
    own_context_checks=frozenset(("MDRequireHttps",)),
    hooks=(
        Hook(POST_READ_REQUEST, _maker("make_unavailable"), Order.MIDDLE, after=_SSL),
        Hook(POST_READ_REQUEST, _maker("make_require_https"), Order.MIDDLE, after=_SSL),
        Hook(POST_READ_REQUEST, _maker("make_challenge"), Order.MIDDLE),
        Hook(POST_READ_REQUEST, _maker("make_certificate_status"), Order.MIDDLE - 1),
        Hook(HANDLER, _maker("make_handler")),
    ),
    providers=(
        Provider("ssl_certificates", "md", certificates, Versions.V24),
        Provider("ssl", "challenges", challenge, Versions.V24),
        Provider("status", "md", section, Versions.V24),
        Provider("libraries", "md", libraries, Versions.V24),
    ),
    post_config=(begin,),
    post_config_last=(finish,),
    worker_begins=(worker_begins,),
    worker_ends=(worker_ends,),
)
