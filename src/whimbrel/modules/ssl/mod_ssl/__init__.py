"""mod_ssl: TLS for clients, and for connections to back ends.

Settings, start-up checks, access checks and variables; `Connection.tls` has the facts of a client's session.
Certificates are read by the package `cryptography` (extra "tls"), imported where TLS is used.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.loggers.mod_log_config.items import ItemKind
from whimbrel.modules.ssl.mod_ssl.directives import DIR_SETTERS, SERVER_SETTERS, SETTERS, SOURCE
from whimbrel.modules.ssl.mod_ssl.expressions import PROVIDERS
from whimbrel.modules.ssl.mod_ssl.settings import SslDirConfig, SslServerConfig
from whimbrel.modules.support.auth.auth_api import AuthzProvider
from whimbrel.registry.module import Hook, Module, Order, Provider, Scope, importer, lazy_maker
from whimbrel.registry.phases import ACCESS_CHECKER, AUTH_CHECKER, CHECK_USER_ID, FIXUPS, POST_READ_REQUEST

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

_PACKAGE: Final = "whimbrel.modules.ssl.mod_ssl"
_imported = importer(_PACKAGE)
_HOOKS: Final = f"{_PACKAGE}.hooks"
_OF_WORKERS: Final = ("backends", "cache_status", "hooks", "names", "renegotiation", "sessions", "variables")
# Directives that nothing implements: tickets by a key of a file, passwords (SRP).
UNIMPLEMENTED: Final = frozenset({"SSLSessionTicketKeyFile", "SSLSRPVerifierFile", "SSLSRPUnknownUserSeed"})


def start(configuration: Configuration) -> None:
    """Check certificates, keys and settings of all servers."""
    from whimbrel.modules.ssl.mod_ssl.start import start as run  # -t starts nothing

    run(configuration)


def _no_arguments(kind: str) -> Any:
    def parse(_cmd: Command, args: str) -> None:
        if args:
            raise ConfigError(f"'Require {kind}' does not take arguments")

    return parse


def _authz(maker: str, kind: str) -> AuthzProvider:
    def make(scope: Scope, args: str, parsed: object) -> Any:
        return _imported("hooks", maker)(scope, args, parsed)

    return AuthzProvider(make, _no_arguments(kind))


def _item(function: str) -> ItemKind:
    return ItemKind(lambda r, argument: _imported("variables", function)(r, argument))


def _variable(r: Request, name: str) -> str:
    """Return the variable *name* for a request, "" without one."""
    found: str = _imported("variables", "lookup")(r, name)
    return found


def _status_section(r: Request, is_plain: bool) -> Any:
    """Return the part of server-status (cache_status.section)."""
    return _imported("cache_status", "section")(r, is_plain)


def libraries(_configuration: Configuration) -> list[str]:
    """Return the files that workers need."""
    return [f"{_PACKAGE}.{name}" for name in _OF_WORKERS]


def backend_tls() -> Any:
    """Return the interface for connections to back ends (backends.BackendTls)."""
    return _imported("backends", "BACKEND_TLS")


MODULE = Module(
    name="ssl_module",
    source=SOURCE,
    dir_config=SslDirConfig,
    server_config=SslServerConfig,
    dir_setters=DIR_SETTERS,
    server_setters=SERVER_SETTERS,
    setters=SETTERS,
    hooks=(
        Hook(POST_READ_REQUEST, lazy_maker(f"{_PACKAGE}.names", "make_names")),
        Hook(ACCESS_CHECKER, lazy_maker(f"{_PACKAGE}.renegotiation", "make_verify")),
        Hook(ACCESS_CHECKER, lazy_maker(_HOOKS, "make_access")),
        Hook(CHECK_USER_ID, lazy_maker(_HOOKS, "make_user"), Order.FIRST),
        Hook(AUTH_CHECKER, lazy_maker(_HOOKS, "make_auth")),
        Hook(FIXUPS, lazy_maker(_HOOKS, "make_fixups")),
    ),
    providers=(
        Provider("authz", "ssl", _authz("make_require_tls", "ssl"), Versions.V24),
        Provider(
            "authz", "ssl-verify-client", _authz("make_require_verified", "ssl-verify-client"), Versions.V24
        ),
        Provider("log_item", "x", _item("log_variable")),
        Provider("log_item", "c", _item("log_of_connection")),
        Provider("ssl", "proxy", backend_tls),
        Provider("ssl", "variable", _variable),
        Provider("libraries", "ssl", libraries),
        Provider("status", "ssl", _status_section, Versions.V24),
        *PROVIDERS,
    ),
    post_config=(start,),
    unimplemented=UNIMPLEMENTED,
)
