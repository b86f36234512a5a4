"""mod_fastcgi 2.4 of fastcgi.com: static, external and dynamic FastCGI applications.

Its authorizers (FastCgiAuthenticator and its relatives) have no behaviour; mod_fcgid and mod_authnz_fcgi do.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.directives.spec import Args, ConfigScope, Context, Directive
from whimbrel.modules.fcgid.mod_fastcgi import settings as s
from whimbrel.modules.fcgid.mod_fastcgi.settings import FastcgiServerConfig
from whimbrel.modules.support.setters import Setter, ignored
from whimbrel.registry.module import PROGRAMS, CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import HANDLER
from whimbrel.registry.programs import ProgramHost

_ANYWHERE: Final = Context.ACCESS_CONF | Context.OR_FILEINFO | Context.OR_AUTHCFG
_SERVER: Final[tuple[tuple[str, Args, Setter, str], ...]] = (
    ("AppClass", Args.RAW_ARGS, s.set_server, ""),
    ("FastCgiServer", Args.RAW_ARGS, s.set_server, ""),
    ("ExternalAppClass", Args.RAW_ARGS, s.set_external, ""),
    ("FastCgiExternalServer", Args.RAW_ARGS, s.set_external, ""),
    ("FastCgiIpcDir", Args.TAKE1, s.set_ipc_dir, ""),
    ("FastCgiWrapper", Args.TAKE1, s.set_wrapper, ""),
    ("FastCgiConfig", Args.RAW_ARGS, s.set_dynamic, ""),
)  # fmt: skip
_DECIDERS: Final = ("FastCgiAccessChecker", "FastCgiAuthenticator", "FastCgiAuthorizer")


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler fastcgi-script."""
    from whimbrel.modules.fcgid.mod_fastcgi.handler import (
        make_handler as make,  # imports what -t does not need
    )

    return make(scope)


def start_programs(configuration: Any, host: ProgramHost) -> list[Any]:
    """Start the process manager. Raises PostConfigError."""
    from whimbrel.modules.fcgid.mod_fastcgi.programs import start_programs as start

    return start(configuration, host)


def _directives() -> tuple[Directive[Any], ...]:
    rows: list[Directive[Any]] = [
        Directive(
            name=name,
            args=args,
            where=Context.RSRC_CONF,
            apply=apply,
            help=text,
            record=ConfigScope.SERVER,
        )
        for name, args, apply, text in _SERVER
    ]
    for name in _DECIDERS:
        for full, args in ((name, Args.RAW_ARGS), (f"{name}Authoritative", Args.FLAG)):
            rows.append(
                Directive(
                    name=full, args=args, where=_ANYWHERE, apply=ignored, help="", record=ConfigScope.NONE
                )
            )
    return tuple(rows)


MODULE = Module(
    name="fastcgi_module",
    source="mod_fastcgi.c",
    server_config=FastcgiServerConfig,
    directives=_directives(),
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
    providers=(Provider(PROGRAMS, "fastcgi", start_programs),),
    unimplemented=frozenset(_DECIDERS),
)
