"""The directives of mod_authz_core, with their validation."""

from __future__ import annotations

from collections.abc import Sequence
from sys import intern

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.config.model import Layer, SectionKind
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Context, Setter
from whimbrel.directives.tokens import getword
from whimbrel.modules.aaa.mod_authz_core.providers import refuse
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig, Rule, join_ahead
from whimbrel.modules.support.auth.auth_api import (
    AuthzCheck,
    AuthzProvider,
    state_of,
    with_layer,
    without_behaviour,
)
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompletedConfig, Scope
from whimbrel.registry.settings import UNSET, setting

_LIMITED: Final = ~(
    1 << 63
)  # inside a container the methods are no longer "all", which the checks of <Limit> test
_CONTAINERS: Final = {
    "<RequireAll": ("and", False),
    "<RequireAny": ("or", False),
    "<RequireNone": ("or", True),
}


@dataclass(slots=True)
class AuthzCoreServerConfig:
    """Per-server settings: aliases by name, and records whose trees are checked at the end."""

    aliases: dict[str, AuthzProvider] = setting(make=dict)
    records: list[AuthzCoreDirConfig] = setting(make=list)


# Providers of modules that may be loaded although they are not implemented.
_ELSEWHERE: Final = {
    **dict.fromkeys(("dbm-group", "dbm-file-group"), "mod_authz_dbm.c"),
    **dict.fromkeys(("dbd-group", "dbd-login", "dbd-logout"), "mod_authz_dbd.c"),
    **dict.fromkeys(
        ("ldap-user", "ldap-group", "ldap-dn", "ldap-attribute", "ldap-filter", "ldap-search"),
        "mod_authnz_ldap.c",
    ),
    **dict.fromkeys(("ssl", "ssl-verify-client"), "mod_ssl.c"),
}


def _begin(cmd: Command, record: AuthzCoreDirConfig) -> None:
    """List the record for the checks at the end of the configuration, once."""
    if not cmd.in_htaccess and record.is_listed is UNSET:
        record.is_listed = True
        server = cmd.main_server(AuthzCoreServerConfig)
        server.records = [record] if server.records is UNSET else [*server.records, record]


def find_provider(cmd: Command, name: str) -> AuthzProvider:
    """Return the provider or alias *name* (case-sensitive).  Raises ConfigError."""
    aliases = cmd.main_server(AuthzCoreServerConfig).aliases
    provider: AuthzProvider | None = (None if aliases is UNSET else aliases.get(name)) or cmd.provider(
        "authz", name
    )
    if provider is None:
        is_elsewhere = state_of(cmd).has_provider_elsewhere("authz", name)
        has_stand_in = is_elsewhere or without_behaviour(cmd, _ELSEWHERE.get(name))
        if not has_stand_in and cmd.dialect.unknown_require_word:
            raise ConfigError(f"Unknown Authz provider: {name}")
        return AuthzProvider(refuse(f"Require {name} has no behaviour here"))
    return provider


def require(cmd: Command, record: AuthzCoreDirConfig, words: list[str]) -> None:
    """Require [not] NAME ARGUMENTS."""
    _begin(cmd, record)
    name, rest = getword(words[0])
    negate = name.lower() == "not"
    if negate:
        name, rest = getword(rest)
    provider = find_provider(cmd, name)
    parsed = provider.parse(cmd, rest) if provider.parse is not None else None
    section = _section(record)
    rule = Rule(intern(name), rest, provider, parsed, negate, cmd.methods, place=cmd.place)
    if negate and section.op == "or":
        raise ConfigError(f"negative {cmd.name} directive has no effect in {section} directive")
    section.add(rule)


def _section(record: AuthzCoreDirConfig) -> Rule:
    """Return the open container; Require lines outside of containers form a RequireAny."""
    if record.section is UNSET or record.section is None:
        record.section = Rule()
    return record.section


def container(cmd: Command, record: AuthzCoreDirConfig, words: list[str]) -> None:
    """<RequireAll>, <RequireAny>, <RequireNone>."""
    _begin(cmd, record)
    args, bracket, _ = words[0].rpartition(">")
    if not bracket:
        raise ConfigError(f"{cmd.name}> directive missing closing '>'")
    if args:
        raise ConfigError(f"{cmd.name}> directive doesn't take additional arguments")
    op, negate = _CONTAINERS[cmd.name]
    inner = Rule(op=op, negate=negate, place=cmd.place)
    outer, record.section = record.section, inner
    allowed, cmd.override = cmd.override, Context.OR_AUTHCFG
    cmd.execute(cmd.node.children, methods=cmd.methods & _LIMITED)
    cmd.override = allowed
    record.section = outer
    if not inner.children:
        raise ConfigError(f"{inner} directive contains no authorization directives")
    section = _section(record)
    if negate and section.op == "or":
        raise ConfigError(f"{inner} directive has no effect in {section} directive")
    for rule in inner.children if inner.op == section.op and not negate else [inner]:
        section.add(rule)


def set_merging(cmd: Command, record: AuthzCoreDirConfig, words: list[str]) -> None:
    """AuthMerging."""
    _begin(cmd, record)
    word = words[0].lower()
    if word not in ("off", "and", "or"):
        raise ConfigError("AuthMerging must be one of: Off | And | Or")
    record.op = word


def set_forbidden(cmd: Command, record: AuthzCoreDirConfig, words: list[str]) -> None:
    _begin(cmd, record)
    set_flag("forbidden")(cmd, record, words)


def alias(cmd: Command, _record: object, words: list[str]) -> None:
    """<AuthzProviderAlias BASE NAME ARGUMENTS>: the provider BASE with these settings inside."""
    args, bracket, _ = words[0].rpartition(">")
    if not bracket:
        raise ConfigError(f"{cmd.name}> directive missing closing '>'")
    base, rest = getword(args)
    name, rest = getword(rest)
    given, rest = getword(rest)
    if not base or not name:
        raise ConfigError(f"{cmd.name}> directive requires additional arguments")
    if rest:
        cmd.warn(
            f"When several arguments ({given} {rest}...) are passed to a {cmd.name} directive, they must be "
            "enclosed in quotation marks.  "
            "Otherwise, only the first one is taken into account",
            code="AH10142",
        )
    layer = Layer(SectionKind.DIRECTORY, cmd.place)
    state_of(cmd).execute_in(layer, "", int(Context.OR_AUTHCFG | Context.ACCESS_CONF))
    provider = find_provider(cmd, base)
    try:
        parsed = provider.parse(cmd, given) if provider.parse is not None else None
    except ConfigError as problem:
        raise ConfigError(f"Can't parse 'Require {base} {given}': {problem.reason}") from None
    server = cmd.main_server(AuthzCoreServerConfig)
    server.aliases = {
        **({} if server.aliases is UNSET else server.aliases),
        name: _aliased(provider, layer, given, parsed),
    }


def _aliased(provider: AuthzProvider, layer: Layer, given: str, parsed: object) -> AuthzProvider:
    def make(scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
        return provider.make(with_layer(scope, layer), given, parsed)

    return AuthzProvider(make)


def check_trees(finished: CompletedConfig) -> None:
    """Refuse containers of negative rules alone; negations are moved inwards where possible."""
    main = next(iter(finished.servers()))
    for record in main.config(AuthzCoreServerConfig).records:
        bad = _only_negative(record.section) if isinstance(record.section, Rule) else None
        if bad is not None:
            raise StartError(
                f"AH01624: {bad} directive contains only negative authorization directives",
                "AH00014: Configuration check failed",
            )


def join_trees(finished: CompletedConfig) -> None:
    """Compile the trees in the master, so that workers share their memory."""
    for record in next(iter(finished.servers())).config(AuthzCoreServerConfig).records:
        if isinstance(record.section, Rule):
            join_ahead(record.section)


def _only_negative(section: Rule) -> Rule | None:
    """Return the innermost container without a positive rule, if there is one."""
    flat: list[Rule] = []
    for child in section.children:
        if child.provider is None:
            bad = _only_negative(child)
            if bad is not None:
                return bad
        flat += _unwrapped(section, child)
    section.children = flat
    return section if all(child.negate for child in section.children) else None


def _unwrapped(section: Rule, child: Rule) -> Sequence[Rule]:
    """Return the rules of a negated container of the other operator (De Morgan), or the rule."""
    if child.provider is not None or not child.negate or child.op == section.op:
        return [child]
    for rule in child.children:
        rule.negate = not rule.negate
    return child.children


DIR_SETTERS: Final[dict[str, Setter]] = {
    "Require": require,
    "<RequireAll": container,
    "<RequireAny": container,
    "<RequireNone": container,
    "AuthMerging": set_merging,
    "AuthzSendForbiddenOnFailure": set_forbidden,
}
SETTERS: Final[dict[str, Setter]] = {
    "<AuthzProviderAlias": alias,
}
