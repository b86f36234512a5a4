"""mod_filter: output filters whose providers are selected when a response begins.

FilterDeclare, FilterProvider, FilterChain, FilterProtocol, FilterTrace; in 2.4 also AddOutputFilterByType.
Must not import: other modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import atoi, lower
from whimbrel.config.execute import state_of
from whimbrel.directives.command import Command
from whimbrel.engine.output.filter import FilterProtocol, FilterType, OutputFilter
from whimbrel.modules.core.filters import IdleFilter, is_registered
from whimbrel.modules.filters.mod_filter.conditions_22 import read_condition_22
from whimbrel.modules.filters.mod_filter.expressions import read_condition_24
from whimbrel.modules.filters.mod_filter.settings import (
    FilterDirConfig,
    FilterRule,
    FilterServerConfig,
    SmartFilter,
    own_filters,
)
from whimbrel.modules.support.setters import by_version
from whimbrel.registry.module import Hook, Module, Order, lazy_maker
from whimbrel.registry.phases import INSERT_FILTER
from whimbrel.syntax.words import getword

_TYPES: Final = {
    "content_set": FilterType.CONTENT_SET,
    "protocol": FilterType.PROTOCOL,
    "connection": FilterType.CONNECTION,
    "network": FilterType.NETWORK,
}
_FLAGS: Final = {
    "change=yes": FilterProtocol.CHANGE | FilterProtocol.CHANGE_LENGTH,
    "change=1:1": FilterProtocol.CHANGE,
    "byteranges=no": FilterProtocol.NO_BYTERANGE,
    "proxy=no": FilterProtocol.NO_PROXY,
    "proxy=transform": FilterProtocol.TRANSFORM,
    "cache=no": FilterProtocol.NO_CACHE,
}


def declare(_cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Declare a smart filter, in place of one of that name in this section; an unknown type is RESOURCE."""
    kind = _TYPES.get(lower(words[1]), FilterType.RESOURCE) if len(words) > 1 else FilterType.RESOURCE
    own_filters(conf)[words[0]] = SmartFilter(words[0], kind)


def _add_rule(conf: FilterDirConfig, name: str, rule: FilterRule, *, kind: int) -> None:
    """Add a provider before the earlier ones, in whose place it is tested first.

    A filter that this section has not declared is declared with the type *kind*.
    """
    smart = own_filters(conf).get(name) or SmartFilter(name, kind)
    own_filters(conf)[name] = replace(smart, rules=(rule, *smart.rules))


def _provider(cmd: Command, name: str) -> OutputFilter:
    """Return an output filter; raises ConfigError if no loaded module registers it."""
    provider: OutputFilter | None = cmd.provider("output_filter", lower(name))
    if provider is not None:
        return provider
    if is_registered(cmd, "output_filter", lower(name)):
        return IdleFilter()
    if state_of(cmd).has_provider_elsewhere("output_filter", lower(name)):
        return IdleFilter()
    raise ConfigError(f"Unknown filter provider {name}")


def add_provider_22(cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Add a provider: filter, provider, criterion and match in one text."""
    parts = []
    at = 0
    for _ in range(5):
        part, at = getword(words[0], at)
        parts.append(part)
    name, provider, criterion, match, more = parts
    if not (name and provider and criterion and match) or more:
        raise ConfigError("usage: FilterProvider filter provider condition match")
    rule = FilterRule(_provider(cmd, provider), test=read_condition_22(cmd, criterion, match))
    _add_rule(conf, name, rule, kind=FilterType.RESOURCE)


def add_provider_24(cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Add a provider: filter, provider and expression.  A new filter has the provider's type."""
    found = _provider(cmd, words[1])
    _add_rule(conf, words[0], FilterRule(found, test=read_condition_24(cmd, words[2])), kind=found.type)


def add_by_type(cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Declare and chain a smart filter ``BYTYPE:NAME`` for each of the names, with these media types."""
    if len(words) < 2:
        raise ConfigError("AddOutputFilterByType requires at least two arguments")
    for name in filter(None, words[0].split(";")):
        smart = "BYTYPE:" + name
        is_new = smart not in own_filters(conf)
        found = _provider(cmd, name)
        _add_rule(conf, smart, FilterRule(found, types=tuple(words[1:])), kind=found.type)
        if is_new:
            change_chain(cmd, conf, [smart])


def change_chain(_cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Change the chain of this section by one argument of FilterChain."""
    chain = conf.chain if isinstance(conf.chain, tuple) else ()
    word = words[0]
    sign = word[:1]
    name = word[1:]
    if sign == "+":
        chain = (*chain, name)
    elif sign == "@":
        chain = (name, *chain)
    elif sign == "-":
        chain = _without(chain, lower(name))
    elif sign == "!":
        chain = (None,)
    elif sign == "=":
        chain = (None, name)
    else:
        chain = (*chain, word)
    conf.chain = chain


def _without(chain: tuple[str | None, ...], name: str) -> tuple[str | None, ...]:
    """Return *chain* without *name*: its first filter alone, or those behind it, one of two in a row."""
    if not chain or (chain[0] is not None and lower(chain[0]) == name):
        return chain[1:]
    out = [chain[0]]
    at = 1
    while at < len(chain):
        each = chain[at]
        if each is not None and lower(each) == name:
            out += chain[at + 1 : at + 2]  # httpd steps over the filter behind it
            at += 1
        else:
            out.append(each)
        at += 1
    return tuple(out)


def set_protocol(cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Set the protocol flags of a filter of this section, or those of a provider's filter everywhere."""
    smart = own_filters(conf).get(words[0])
    if smart is None:
        raise ConfigError("FilterProtocol: No such filter")
    provider = lower(words[1]) if len(words) > 2 else None
    if provider is not None and all(lower(rule.provider.name) != provider for rule in smart.rules):
        raise ConfigError("FilterProtocol: No such provider for this filter")
    flags = _flags(words[-1], is_24=cmd.dialect.expressions)
    if provider is None:
        own_filters(conf)[words[0]] = replace(smart, protocol=flags)
    elif cmd.in_htaccess:
        rules = [
            replace(rule, protocol=flags) if lower(rule.provider.name) == provider else rule
            for rule in smart.rules
        ]
        own_filters(conf)[words[0]] = replace(smart, rules=tuple(rules))
    else:
        server = cmd.main_server(FilterServerConfig)
        known = server.protocols if isinstance(server.protocols, dict) else {}
        server.protocols = {**known, provider: flags}


def _flags(text: str, *, is_24: bool) -> FilterProtocol:
    """Return the flags that *text* lists; unknown words have no effect."""
    flags = FilterProtocol.NONE
    for separator in ";, \t":
        text = text.replace(separator, " ")
    for word in lower(text).split(" "):
        if word == "change=no" and is_24:
            flags &= ~(FilterProtocol.CHANGE | FilterProtocol.CHANGE_LENGTH)
        else:
            flags |= _FLAGS.get(word, FilterProtocol.NONE)
    return flags


def set_trace(_cmd: Command, conf: FilterDirConfig, words: list[str]) -> None:
    """Set the trace level of a filter of this section; level 1 alone logs."""
    smart = own_filters(conf).get(words[0])
    if smart is None:
        raise ConfigError(f"Undeclared smart filter {words[0]}")
    own_filters(conf)[words[0]] = replace(smart, traced=atoi(words[1]) == 1)


Setter = Callable[[Command, FilterDirConfig, list[str]], None]


MODULE = Module(
    name="filter_module",
    source="mod_filter.c",
    dir_config=FilterDirConfig,
    server_config=FilterServerConfig,
    dir_setters={
        "FilterDeclare": declare,
        "FilterProvider": by_version(add_provider_22, add_provider_24),
        "FilterChain": change_chain,
        "FilterTrace": set_trace,
        "AddOutputFilterByType": add_by_type,
        "FilterProtocol": set_protocol,
    },
    hooks=(
        Hook(
            INSERT_FILTER,
            lazy_maker("whimbrel.modules.filters.mod_filter.insert", "make_insert"),
            Order.MIDDLE,
        ),
    ),
)
