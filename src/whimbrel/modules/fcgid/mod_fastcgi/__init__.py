"""mod_fastcgi 2.4 of fastcgi.com: static, external and dynamic FastCGI applications.

Its authorizers (FastCgiAuthenticator and its relatives) have no behaviour; mod_fcgid and mod_authnz_fcgi do.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.config.configuration import Configuration
from whimbrel.modules.fcgid.mod_fastcgi import settings as s
from whimbrel.modules.fcgid.mod_fastcgi.settings import FastcgiServerConfig
from whimbrel.modules.support.setters import ignored, of_main, set_path
from whimbrel.registry.module import PROGRAMS, CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.programs import ProgramHost

_DECIDERS: Final = ("FastCgiAccessChecker", "FastCgiAuthenticator", "FastCgiAuthorizer")


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler fastcgi-script."""
    from whimbrel.modules.fcgid.mod_fastcgi.handler import (
        make_handler as make,  # imports what -t does not need
    )

    return make(scope)


def start_programs(configuration: Configuration, host: ProgramHost) -> list[Any]:
    """Start the process manager. Raises PostConfigError."""
    from whimbrel.modules.fcgid.mod_fastcgi.programs import start_programs as start

    return start(configuration, host)


MODULE = Module(
    name="fastcgi_module",
    source="mod_fastcgi.c",
    server_config=FastcgiServerConfig,
    server_setters={
        "AppClass": s.set_server,
        "FastCgiServer": s.set_server,
        "ExternalAppClass": s.set_external,
        "FastCgiExternalServer": s.set_external,
        "FastCgiIpcDir": of_main(FastcgiServerConfig, set_path("ipc_dir")),
        "FastCgiWrapper": s.set_wrapper,
        "FastCgiConfig": s.set_dynamic,
    },
    setters={f"{name}{suffix}": ignored for name in _DECIDERS for suffix in ("", "Authoritative")},
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
    providers=(Provider(PROGRAMS, "fastcgi", start_programs),),
    unimplemented=frozenset(_DECIDERS),
)
