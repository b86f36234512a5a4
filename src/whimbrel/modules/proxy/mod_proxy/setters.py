"""Setters of ProxyPass, ProxyPassReverse*, BalancerMember and ProxySet."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Any
from whimbrel.config.execute import check_context
from whimbrel.config.includes import has_wildcards
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword, words
from whimbrel.modules.proxy.mod_proxy.backends import (
    Parameter,
    added,
    configure_balancer,
    configure_worker,
    names_balancer,
    obtain_balancer,
    obtain_member,
    obtain_worker,
    unique,
    warn_of_sharing,
)
from whimbrel.modules.proxy.mod_proxy.model import find_balancer, find_worker, without_socket
from whimbrel.modules.proxy.mod_proxy.parameters import set_balancer_parameter, set_worker_parameter
from whimbrel.modules.proxy.mod_proxy.settings import ProxyAlias, ProxyDirConfig, ProxyServerConfig
from whimbrel.modules.support.setters import Forbidden
from whimbrel.modules.support.substitution import compiled
from whimbrel.registry.settings import UNSET

_PAIR = "Invalid {} parameter. Parameter must be in the form 'key=value'"
_PASS = "ProxyPass|ProxyPassMatch"


class _PassLine:
    """The words of one ProxyPass line.

    Attributes:
        fake: the URL path, of a section its argument; `real`: the URL.
        by_regex: *fake* is an expression.
        flags: `nocanon`, `interpolate`, `noquery`, `encoded`, `servlet`.
    """

    def __init__(self, cmd: Command, text: str, by_regex: bool) -> None:
        self.flags = set[str]()
        self.by_regex = by_regex
        self.parameters: list[Parameter] = []
        self.fake: str | None = cmd.path or None
        self.real: str | None = None
        plain = ("nocanon", "interpolate", "noquery")[: 3 if not cmd.dialect.proxy_22 else 2]
        for word in words(text):
            if self.fake is None:
                if word != "~":
                    self.fake = word
                elif by_regex:
                    raise ConfigError("ProxyPassMatch invalid syntax ('~' usage).")
                else:
                    self.by_regex = True
            elif self.real is None:
                self.real = word
            elif lower(word) in plain:
                self.flags.add(lower(word))
            else:
                self._add(cmd, word)

    def _add(self, cmd: Command, word: str) -> None:
        key, equals, value = word.partition("=")
        if not equals:
            if cmd.path and (self.real or "").startswith("/"):
                raise ConfigError(f"{_PASS} can not have a path when defined in a location.")
            raise ConfigError(_PAIR.format(_PASS) + ".")
        if lower(key) != "mapping" or cmd.dialect.proxy_22:
            self.parameters.append(Parameter(key, value))
        elif lower(value) not in ("encoded", "servlet"):
            raise ConfigError("unknown mapping")
        else:
            self.flags |= {lower(value), "encoded"}

    def alias(self, cmd: Command, real: str) -> ProxyAlias:
        """Return the mapping to *real*."""
        flags = self.flags
        regex = None
        if self.by_regex:
            regex = compiled(cmd, self.fake or "", "Regular expression could not be compiled.")
        return ProxyAlias(
            self.fake or "",
            real,
            regex,
            "nocanon" in flags,
            "noquery" in flags,
            "interpolate" in flags,
            "encoded" in flags,
            "servlet" in flags,
        )


def set_pass(by_regex: bool) -> Setter:
    """Return the setter of ProxyPass or ProxyPassMatch."""

    def apply(cmd: Command, record: ProxyDirConfig, arguments: list[str]) -> None:
        line = _PassLine(cmd, arguments[0], by_regex)
        conf = cmd.server_config(ProxyServerConfig)
        if line.real is None:
            raise ConfigError(f"{_PASS} needs a path when not defined in a location")
        real: str | None = line.real
        in_section = bool(cmd.path) and not cmd.dialect.proxy_22
        if not cmd.dialect.proxy_22:
            real = without_socket(line.real)
            if real is None:
                raise ConfigError(f'{_PASS} uses an invalid "unix:" URL')
        if in_section and has_wildcards(line.fake or ""):
            line.by_regex = True
        alias = line.alias(cmd, real or "")
        if alias.encoded:
            cmd.main_server(ProxyServerConfig).maps_encoded = True
        if in_section:
            record.alias = alias
        else:
            conf.aliases = added(conf.aliases, alias)
        if line.real != "!":
            _define(cmd, conf, line, line.real, alias)

    return apply


def _define(cmd: Command, conf: ProxyServerConfig, line: _PassLine, url: str, alias: ProxyAlias) -> None:
    """Define the worker or balancer of a ProxyPass line."""
    parameters = unique(line.parameters)
    try:
        if names_balancer(url):
            balancer = obtain_balancer(cmd, conf, url, "" if line.by_regex else alias.fake)
            configure_balancer(cmd, balancer, parameters)
            return
        worker, is_shared = obtain_worker(cmd, conf, url, is_match=line.by_regex)
        if is_shared:
            warn_of_sharing(cmd, worker, alias.real, "AH01145")
        configure_worker(cmd, worker, parameters, is_shared, ("AH01145", "AH01146"))
    except ConfigError as problem:
        raise ConfigError(f"ProxyPass {problem.reason}") from None


def set_pass_reverse(cmd: Command, record: ProxyDirConfig, arguments: list[str]) -> None:
    """Set ProxyPassReverse: [path] URL [interpolate]."""
    second = arguments[1] if len(arguments) > 1 else None
    is_word = second is not None and lower(second) == "interpolate"
    if not cmd.path:
        if second is None or is_word:
            raise ConfigError("ProxyPassReverse needs a path when not defined in a location")
        alias = ProxyAlias(arguments[0], second, interpolate=len(arguments) > 2)
    elif second is not None and not is_word:
        raise ConfigError("ProxyPassReverse can not have a path when defined in a location")
    else:
        alias = ProxyAlias(cmd.path, arguments[0], interpolate=is_word)
    record.reverse_aliases = added(record.reverse_aliases, alias)


def set_cookie_map(name: str) -> Setter:
    """Return the setter of ProxyPassReverseCookieDomain or -Path, into the field *name*."""

    def apply(_cmd: Command, record: object, arguments: list[str]) -> None:
        alias = ProxyAlias(arguments[0], arguments[1], interpolate=len(arguments) > 2)
        setattr(record, name, added(getattr(record, name), alias))

    return apply


def add_member(cmd: Command, _record: object, arguments: list[str]) -> None:
    """Set BalancerMember: [balancer] URL [key=value ...]."""
    if not cmd.dialect.proxy_22:
        check_context(cmd, Forbidden.HTACCESS)
    conf = cmd.server_config(ProxyServerConfig)
    path = cmd.path or None
    name = None
    parameters = []
    for word in words(arguments[0]):
        key, equals, value = word.partition("=")
        if equals:
            parameters.append(Parameter(key, value))
        elif path is None:
            path = word
        elif name is None:
            name = word
        elif cmd.path:
            raise ConfigError("BalancerMember can not have a balancer name when defined in a location")
        else:
            raise ConfigError(_PAIR.format("BalancerMember"))
    if path is None:
        raise ConfigError("BalancerMember must define balancer name when outside <Proxy > section")
    if name is None:
        raise ConfigError("BalancerMember must define remote proxy server")
    if not cmd.dialect.proxy_22 and without_socket(name) is None:
        raise ConfigError('BalancerMember uses an invalid "unix:" URL')
    try:
        _add_member(cmd, conf, lower(path), name, unique(parameters))
    except ConfigError as problem:
        raise ConfigError(f"BalancerMember {problem.reason}") from None


def _add_member(
    cmd: Command, conf: ProxyServerConfig, path: str, name: str, parameters: list[Parameter]
) -> None:
    balancer = obtain_balancer(cmd, conf, path, "/")
    worker, is_shared = obtain_member(cmd, conf, balancer, name)
    if is_shared:
        warn_of_sharing(cmd, worker, name, "AH01149")
    configure_worker(cmd, worker, parameters, is_shared, ("AH01149", "AH01150"))


def set_proxy_set(cmd: Command, _record: object, arguments: list[str]) -> None:
    """Set ProxySet: parameters of the section's worker or balancer, outside of one a URL comes first."""
    if not cmd.dialect.proxy_22:
        check_context(cmd, Forbidden.HTACCESS)
    conf = cmd.server_config(ProxyServerConfig)
    rest = arguments[0]
    parent = cmd.node.parent
    in_section = parent is not None and lower(parent.name[:6]) == "<proxy"
    if parent is not None and in_section:
        name = getword(parent.args)[0].partition(">")[0]
    else:
        name, rest = getword(rest)
    is_match = parent is not None and in_section and lower(parent.name[6:11]) == "match"
    target = _target(cmd, conf, name, in_section, is_match)
    setter: Any = set_balancer_parameter if names_balancer(name) else set_worker_parameter
    for word in words(rest):
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(_PAIR.format("ProxySet"))
        try:
            setter(cmd, target, key, value)
        except ConfigError as problem:
            raise ConfigError(f"ProxySet: {problem.reason} {word}; {name}") from None


def _target(cmd: Command, conf: ProxyServerConfig, name: str, in_section: bool, is_match: bool) -> Any:
    """Return the worker or balancer that ProxySet configures; only in a section it may be new."""
    try:
        if names_balancer(name):
            if in_section:
                return obtain_balancer(cmd, conf, name, "/")
            found: Any = find_balancer([] if conf.balancers is UNSET else conf.balancers, name)
        else:
            real = without_socket(name)
            if real is None and not cmd.dialect.proxy_22:
                raise ConfigError('uses an invalid "unix:" URL')
            if in_section:
                return obtain_worker(cmd, conf, name, is_match=is_match)[0]
            found = find_worker([] if conf.workers is UNSET else conf.workers, real or name)
    except ConfigError as problem:
        raise ConfigError(f"ProxySet {problem.reason}") from None
    if found is None:
        kind = "Balancer" if names_balancer(name) else "Worker"
        raise ConfigError(f"ProxySet can not find '{name}' {kind}.")
    return found
