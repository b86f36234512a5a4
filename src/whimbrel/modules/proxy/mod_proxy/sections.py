"""<Proxy> and <ProxyMatch>: settings of proxied URLs, and parameters of a worker or balancer."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Any
from whimbrel.config.execute import IN_SECTION, CommandContext, check_context, state_of
from whimbrel.config.includes import has_wildcards
from whimbrel.config.model import Layer, SectionKind
from whimbrel.directives.command import Command
from whimbrel.directives.context import Context
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword, words
from whimbrel.modules.proxy.mod_proxy.backends import (
    added,
    names_balancer,
    obtain_balancer,
    obtain_worker,
)
from whimbrel.modules.proxy.mod_proxy.model import without_socket
from whimbrel.modules.proxy.mod_proxy.parameters import set_balancer_parameter, set_worker_parameter
from whimbrel.modules.proxy.mod_proxy.settings import ProxySection, ProxyServerConfig
from whimbrel.modules.support.setters import Forbidden

IN_PROXY = IN_SECTION | int(Context.PROXY_CONF)
_PREFIX = "proxy:"


def set_section(by_regex: bool) -> Setter:
    """Return the setter of <Proxy> or <ProxyMatch>."""

    def apply(cmd: Command, _record: object, arguments: list[str]) -> None:
        state = state_of(cmd)
        old = cmd.dialect.proxy_22
        check_context(cmd, Forbidden.DIR_LOC_FILE | Forbidden.LIMIT if old else Forbidden.DIR_CONTEXT)
        text, bracket, _ = arguments[0].rpartition(">")
        if not bracket:
            raise ConfigError(f"{cmd.name}> directive missing closing '>'")
        pattern, rest = getword(text)
        if lower(pattern[:6]) == _PREFIX:
            pattern = pattern[6:]
        regex = cmd.regex(pattern) if by_regex else None
        name = cmd.name
        layer = Layer(SectionKind.SERVER, cmd.place)
        state.execute_in(layer, pattern, IN_SECTION if old else IN_PROXY)
        conf = cmd.server_config(ProxyServerConfig)
        section = ProxySection(pattern, layer, regex, has_wildcards(pattern))
        conf.sections = added(conf.sections, section)
        if rest:
            if by_regex:
                raise ConfigError("Multiple <ProxyMatch> arguments not (yet) supported.")
            _configure(state, conf, section, rest, name)

    return apply


def _configure(
    cmd: CommandContext, conf: ProxyServerConfig, section: ProxySection, rest: str, name: str
) -> None:
    """Set the parameters in the head of the section."""
    url = section.pattern
    if section.is_fnmatch:
        raise ConfigError(f"{name}> arguments are not supported for wildchar url.")
    if ":" not in url:
        raise ConfigError(f"{name}> arguments are not supported for non url.")
    target: Any
    setter: Any
    try:
        if names_balancer(url):
            target = obtain_balancer(cmd, conf, url, "/")
            setter = set_balancer_parameter
        else:
            if not cmd.dialect.proxy_22 and without_socket(url) is None:
                raise ConfigError('<Proxy/ProxyMatch > uses an invalid "unix:" URL')
            target = obtain_worker(cmd, conf, url)[0]
            setter = set_worker_parameter
    except ConfigError as problem:
        raise ConfigError(f"{name} {problem.reason}") from None
    target.section = target.section or section.layer
    for word in words(rest):
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError("Invalid Proxy parameter. Parameter must be in the form 'key=value'")
        try:
            setter(cmd, target, key, value)
        except ConfigError as problem:
            raise ConfigError(f"{name} {problem.reason} {word}; {url}") from None
