"""Setters of mod_authnz_fcgi."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, is_digits, lower
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import read_string
from whimbrel.modules.aaa.mod_authnz_fcgi.settings import GROUP, Application, AuthnzFcgiDirConfig
from whimbrel.modules.support.auth.auth_api import AuthnProvider, AuthzProvider

if TYPE_CHECKING:
    from whimbrel.modules.support.auth.auth_api import AuthzCheck, BoundAuthn

_BACKEND: Final = compile(r"fcgi://(?:([^:/\[\]]+)|\[([^\]]+)\]):([0-9]+)/?\Z")
_MAX_PORT: Final = 65535
_KINDS: Final = {"authn": (True, False), "authz": (False, True), "authnz": (True, True)}


def define_provider(cmd: Command, _conf: object, words: list[str]) -> None:
    """AuthnzFcgiDefineProvider TYPE NAME fcgi://HOST:PORT/."""
    for index, missing in enumerate(("type", "provider name", "backend-address")):
        if len(words) <= index:
            raise ConfigError(f"{cmd.name}: No {missing} given")
        if index == 0 and lower(words[0]) not in _KINDS:
            raise ConfigError(f"{cmd.name}: Invalid provider type {words[0]}")
    name = words[1]
    backend = words[2]
    match = _BACKEND.match(backend)
    if match is None:
        raise ConfigError(f"{cmd.name}: backend-address '{backend}' has invalid form")
    port = atoi(match[3])
    if port > _MAX_PORT:
        raise ConfigError(f"{cmd.name}: backend-address '{backend}' has invalid port")
    addresses = _addresses(cmd, match[1] or match[2], port)
    if len(words) > len(("type", "name", "backend")):
        raise ConfigError(f"{cmd.name}: Unexpected parameter {words[3]}")
    is_authn, is_authz = _KINDS[lower(words[0])]
    application = Application(name, backend, addresses, is_authn, is_authz)
    cmd.register_provider(GROUP, name, application)
    if is_authn:
        cmd.register_provider("authn", name, AuthnProvider(lambda scope: _authn(application), realms=False))
    if is_authz:
        provider = AuthzProvider(lambda scope, text, parsed: _authz(application), _parse)
        cmd.register_provider("authz", name, provider)


def _authn(application: Application) -> BoundAuthn:
    from whimbrel.modules.aaa.mod_authnz_fcgi.checks import authn_of  # no check of a file needs it

    return authn_of(application)


def _authz(application: Application) -> AuthzCheck:
    from whimbrel.modules.aaa.mod_authnz_fcgi.checks import authz_of

    return authz_of(application)


def _parse(_cmd: Command, text: str) -> None:
    if text:
        raise ConfigError(
            "mod_authnz_fcgi doesn't support restrictions on providers (i.e., multiple require args)"
        )


def _addresses(cmd: Command, host: str, port: int) -> tuple[tuple[str, int], ...]:
    """Return the addresses of *host*; raise ConfigError if it has none."""
    if ":" in host or is_digits(host.replace(".", "")):
        return ((host, port),)
    from socket import SOCK_STREAM, gaierror, getaddrinfo  # rare

    try:
        found = getaddrinfo(host, port, type=SOCK_STREAM)
    except gaierror:
        raise ConfigError(f"{cmd.name}: Error resolving backend address") from None
    return tuple([(str(entry[4][0]), port) for entry in found])


def set_check(cmd: Command, conf: AuthnzFcgiDirConfig, words: list[str]) -> None:
    """AuthnzFcgiCheckAuthnProvider NAME [OPTION VALUE]..."""
    if not words:
        raise ConfigError(f"{cmd.name}: No provider given")
    conf.name = words[0]
    if lower(words[0]) == "none" and len(words) > 1:
        raise ConfigError('Options aren\'t supported with "None"')
    for index in range(1, len(words), 2):
        option = words[index]
        if index + 1 == len(words):
            raise ConfigError(f"{cmd.name}: {option}needs an argument")
        _set_option(cmd, conf, option, words[index + 1])


def _set_option(cmd: Command, conf: AuthnzFcgiDirConfig, option: str, value: str) -> None:
    kind = lower(option)
    word = lower(value)
    if kind in ("authoritative", "requirebasicauth"):
        if word not in ("on", "off"):
            raise ConfigError(f"{cmd.name}: Bad argument '{value}' to option '{option}'")
        setattr(conf, "is_authoritative" if kind == "authoritative" else "requires_basic", word == "on")
    elif kind == "defaultuser":
        conf.default_user = value
    elif kind == "userexpr":
        try:
            conf.user = read_string(cmd, value, "")
        except ConfigError as problem:
            reason = problem.reason.removeprefix(": ")
            raise ConfigError(f"{cmd.name}: Error parsing '{value}': '{reason}'") from None
    else:
        raise ConfigError(f"{cmd.name}: Unexpected option '{option}'")
