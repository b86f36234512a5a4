"""mod_wsgi 4.9: Python applications by WSGI, in processes that the server starts.

Manual: https://modwsgi.readthedocs.io/. PEP 3333.

Files: settings and options (directives), groups (which process serves), translate (WSGIScriptAlias),
variables (the environment), handler and exchange (one request), processes and messages (the keeper's side),
deciders, calls and dispatch (access scripts). The program of the processes: modules/wsgi/mod_wsgi_process.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.support.auth.auth_api import AuthnProvider, AuthzCheck, AuthzProvider, BoundAuthn
from whimbrel.modules.support.setters import add_text, ignored, set_choice, set_path, set_text
from whimbrel.modules.wsgi.mod_wsgi import settings as s
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig, WsgiServerConfig
from whimbrel.registry.module import PROGRAMS, Hook, Module, Order, Provider, Scope, lazy_maker
from whimbrel.registry.phases import ACCESS_CHECKER, FIXUPS, HANDLER, TRANSLATE_NAME
from whimbrel.registry.programs import ProgramHost

_PACKAGE: Final = "whimbrel.modules.wsgi.mod_wsgi"
# they tune CPython within httpd; applications here have an interpreter of their own
_WITHOUT_EFFECT: Final[dict[str, Setter]] = {
    "WSGIAcceptMutex": s.check_mutex,
    "WSGISocketRotation": s.switch(""),
    "WSGILazyInitialization": s.switch(""),
    "WSGIVerboseDebugging": s.switch(""),
    "WSGIDestroyInterpreter": s.switch(""),
    "WSGIRestrictStdin": s.switch(""),
    "WSGIRestrictStdout": s.switch(""),
    "WSGICaseSensitivity": s.switch(""),
    "WSGIServerMetrics": s.switch(""),
    "WSGINewRelicConfigFile": ignored,
    "WSGINewRelicEnvironment": ignored,
    "WSGIPassApacheRequest": s.switch(""),
}

_FORMER: Final = (
    "WSGIReloadMechanism",
    "WSGIOutputBuffering",
    "WSGIUserAuthoritative",
    "WSGIPy3kWarningFlag",
)


def start_programs(configuration: Configuration, host: ProgramHost) -> list[Any]:
    """Start the keeper of the applications' processes. Raises PostConfigError."""
    from whimbrel.modules.wsgi.mod_wsgi.processes import (
        start_programs as start,
    )  # imports what -t does not need

    return start(configuration, host)


def make_authn(scope: Scope) -> BoundAuthn:
    """Bind the provider of passwords."""
    from whimbrel.modules.wsgi.mod_wsgi.deciders import make_authn as make

    return make(scope)


def make_authz(scope: Scope, text: str, _parsed: object) -> AuthzCheck:
    """Bind the groups of a Require line."""
    from whimbrel.modules.wsgi.mod_wsgi.deciders import make_authz as make

    return make(scope, text)


MODULE: Final = Module(
    name="wsgi_module",
    source="mod_wsgi.c",
    dir_config=WsgiDirConfig,
    server_config=WsgiServerConfig,
    dir_setters={
        "WSGIRestrictProcess": s.set_restrict_process,
        "WSGIProcessGroup": set_text("process_group"),
        "WSGIApplicationGroup": set_text("application_group"),
        "WSGICallableObject": set_text("callable_object"),
        "WSGIDispatchScript": s.script_of("dispatch_script", "dispatch"),
        "WSGIPassAuthorization": s.switch("pass_authorization"),
        "WSGIScriptReloading": s.switch("script_reloading"),
        "WSGIErrorOverride": s.switch("error_override"),
        "WSGIChunkedRequest": s.switch("chunked_request"),
        "WSGIMapHEADToGET": set_choice(
            "map_head", ("off", "on", "auto"), "WSGIMapHEADToGET must be one of: Off | On | Auto"
        ),
        "WSGIIgnoreActivity": s.switch("ignore_activity"),
        "WSGITrustedProxyHeaders": s.add_proxy_headers,
        "WSGITrustedProxies": s.add_proxies,
        "WSGIEnableSendfile": s.switch("has_sendfile"),
        "WSGIAccessScript": s.script_of("access_script", "access"),
        "WSGIAuthUserScript": s.script_of("user_script", "auth user"),
        "WSGIAuthGroupScript": s.script_of("group_script", "auth group"),
        "WSGIGroupAuthoritative": s.switch("group_authoritative"),
        "WSGIHandlerScript": s.add_handler_script,
    },
    server_setters={
        "ASGIScriptAlias": s.add_asgi_alias,
        "WSGIScriptAlias": s.add_alias,
        "WSGIScriptAliasMatch": s.add_alias,
        "WSGISocketPrefix": set_path("socket_prefix"),
        "WSGIDontWriteBytecode": set_choice("writes_bytecode", {"on": False, "off": True}, s.SWITCH),
        "WSGIPythonWarnings": add_text("python_warnings"),
        "WSGIPythonOptimize": set_text("python_optimize"),
        "WSGIPythonHome": set_text("python_home"),
        "WSGIPythonPath": set_text("python_path"),
        "WSGIPythonEggs": set_text("python_eggs"),
        "WSGIPythonHashSeed": s.set_hash_seed,
        "WSGIRestrictEmbedded": s.switch("restrict_embedded"),
        "WSGIRestrictSignal": s.switch("restrict_signal"),
    },
    setters={
        **_WITHOUT_EFFECT,
        **dict.fromkeys(_FORMER, ignored),
        "WSGIDaemonProcess": s.add_daemon,
        "WSGIImportScript": s.add_import,
    },
    check_config=(s.check_asgi,),
    hooks=(
        Hook(
            TRANSLATE_NAME,
            lazy_maker(f"{_PACKAGE}.translate", "make_translate"),
            Order.MIDDLE,
            before=("mod_userdir.c", "mod_vhost_alias.c"),
            after=("mod_alias.c",),
        ),
        Hook(FIXUPS, lazy_maker(f"{_PACKAGE}.asgi", "make_fixup"), Order.LAST),
        Hook(HANDLER, lazy_maker(f"{_PACKAGE}.handler", "make_handler"), Order.MIDDLE),
        Hook(
            ACCESS_CHECKER,
            lazy_maker(f"{_PACKAGE}.deciders", "make_access_check"),
            Order.MIDDLE,
            before=("mod_authz_host.c",),
            after=("mod_ssl.c",),
        ),
    ),
    providers=(
        Provider(PROGRAMS, "wsgi", start_programs),
        Provider("authn", "wsgi", AuthnProvider(make_authn)),
        Provider("authz", "wsgi-group", AuthzProvider(make_authz), Versions.V24),
    ),
    unimplemented=frozenset((*_WITHOUT_EFFECT, *_FORMER)),
)
