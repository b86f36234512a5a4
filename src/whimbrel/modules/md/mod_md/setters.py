"""Setters of mod_md's directives, with httpd's context checks and messages."""

from __future__ import annotations

import json
import os

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import atoi, lower
from whimbrel.config.execute import check_context
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.directives.tokens import getword
from whimbrel.modules.md.mod_md import values
from whimbrel.modules.md.mod_md.settings import (
    RENEW_ALWAYS,
    RENEW_AUTO,
    RENEW_MANUAL,
    Definition,
    MdGlobalConfig,
    MdServerConfig,
)
from whimbrel.modules.support.setters import Forbidden
from whimbrel.registry.settings import UNSET

SECTIONS = ("<MDomainSet", "<MDomain")
_FORBIDDEN = Forbidden.DIRECTORY | Forbidden.LOCATION
_MODES = {
    **dict.fromkeys(("auto", "automatic"), RENEW_AUTO),
    "always": RENEW_ALWAYS,
    **dict.fromkeys(("manual", "stick"), RENEW_MANUAL),
}


# where a directive may stand -----------------------------------------------------------------------
def definition_of(conf: MdServerConfig) -> Definition | None:
    """Return the section that is being read, None outside."""
    return None if conf.definition is UNSET else conf.definition


def of_domains(setter: Setter) -> Setter:
    """Return *setter* for a property: of the section that it stands in, else of the server."""

    def apply(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
        definition = definition_of(conf)
        if definition is None:
            check_context(cmd, _FORBIDDEN)
        setter(cmd, conf if definition is None else definition.own, words)

    return apply


def of_server(setter: Setter, *, may_be_inside: bool = False) -> Setter:
    """Return *setter* for a setting of the whole server, by default not for sections."""

    def apply(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
        is_inside = definition_of(conf) is not None
        if is_inside and not may_be_inside:
            raise ConfigError(f"{cmd.name} is not allowed inside an '<MDomainSet' context")
        if not is_inside:
            check_context(cmd, _FORBIDDEN)
        setter(cmd, cmd.main_server(MdGlobalConfig), words)

    return apply


def flag(name: str) -> Setter:
    """Return the setter of on or off into a field."""

    def apply(_cmd: Command, conf: object, words: list[str]) -> None:
        setattr(conf, name, values.on_or_off(words[0]))

    return apply


def text(name: str) -> Setter:
    """Return the setter of the first argument into a field, as written."""

    def apply(_cmd: Command, conf: object, words: list[str]) -> None:
        setattr(conf, name, words[0])

    return apply


def window(name: str, field: str, limit: int = 100, too_much: str = "a") -> Setter:
    """Return the setter of a duration or a percentage."""

    def apply(_cmd: Command, conf: object, words: list[str]) -> None:
        setattr(conf, field, values.window(name, words[0], limit=limit, too_much=too_much))

    return apply


def delay(name: str, low: float | None, message: str, unit: str = "s") -> Setter:
    """Return the setter of a time of more than *low* seconds."""

    def apply(_cmd: Command, conf: object, words: list[str]) -> None:
        seconds = values.duration(words[0], unit)
        if seconds is None:
            raise ConfigError("unrecognized duration format")
        if low is not None and seconds <= low:
            raise ConfigError(message)
        setattr(conf, name, seconds)

    return apply


# domains -----------------------------------------------------------------------------------------
def _members(words: list[str], names: list[str], own: MdServerConfig) -> None:
    for word in words:
        low = lower(word)
        if low in ("auto", "manual"):
            own.members_auto = low == "auto"
        elif low not in names:
            names.append(low)


def _define(cmd: Command, definition: Definition) -> None:
    conf = cmd.main_server(MdGlobalConfig)
    conf.definitions = [*([] if conf.definitions is UNSET else conf.definitions), definition]


def set_domain(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDomain: names, auto, manual."""
    if definition_of(conf) is not None:
        raise ConfigError(f"{cmd.name} is not allowed inside an '<MDomainSet' context")
    check_context(cmd, _FORBIDDEN)
    definition = Definition([], MdServerConfig())
    _members(words, definition.names, definition.own)
    if not definition.names:
        raise ConfigError("needs at least one domain name")
    _define(cmd, definition)


def open_section(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """<MDomainSet> and <MDomain>: the lines inside set properties of one domain."""
    if definition_of(conf) is not None:
        raise ConfigError(f"{cmd.name} is not allowed inside an '<MDomainSet' context")
    check_context(cmd, _FORBIDDEN)
    args, bracket, _ = words[0].rpartition(">")
    if not bracket:
        raise ConfigError("<MDomainSet> directive missing closing '>'")
    if not args:
        raise ConfigError("<MDomainSet > section must specify a unique domain name")
    name, rest = getword(args)
    definition = Definition([lower(name)], MdServerConfig())
    while rest:
        name, rest = getword(rest)
        _members([name], definition.names, definition.own)
    conf.definition = definition
    try:
        cmd.execute(cmd.node.children)
    finally:
        conf.definition = None
    _define(cmd, definition)


def add_members(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDMember, MDMembers: names in a section; auto or manual anywhere."""
    definition = definition_of(conf)
    if definition is not None:
        _members(words, definition.names, definition.own)
        return
    if len(words) != 1:
        raise ConfigError(f"{cmd.name} is only valid inside a '<MDomainSet' context, not here")
    if lower(words[0]) not in ("auto", "manual"):
        raise ConfigError('unknown value, use "auto|manual"')
    conf.members_auto = lower(words[0]) == "auto"


def add_file(field: str) -> Setter:
    """Return the setter of MDCertificateFile and MDCertificateKeyFile."""

    def apply(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
        definition = definition_of(conf)
        if definition is None:
            raise ConfigError(f"{cmd.name} is only valid inside a '<MDomainSet' context, not here")
        getattr(definition, field).append(cmd.server_path(words[0]))

    return apply


# properties --------------------------------------------------------------------------------------
def set_authorities(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDCertificateAuthority: URLs or names."""
    conf.authorities = tuple(values.authority(word) for word in words)


def set_challenges(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDCAChallenges."""
    conf.challenges = tuple(words)


def set_keys(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDPrivateKeys."""
    conf.keys = values.key_specs(words)


def set_renew_mode(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDRenewMode, MDDriveMode."""
    if lower(words[0]) not in _MODES:
        raise ConfigError(f"unknown MDDriveMode {words[0]}")
    conf.renew_mode = _MODES[lower(words[0])]


def set_require_https(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDRequireHttps."""
    if lower(words[0]) not in ("off", "temporary", "permanent"):
        raise ConfigError(f"unknown '{words[0]}', supported parameter values are 'temporary' and 'permanent'")
    conf.require_https = lower(words[0])


def set_ca_file(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDCACertificateFile; none: the system's trust anchors."""
    conf.ca_file = "" if lower(words[0]) == "none" else cmd.server_path(words[0])


def set_proxy_ca_file(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDHttpProxyCACertificateFile; none: the system's trust anchors."""
    conf.proxy_ca_file = "" if lower(words[0]) == "none" else cmd.server_path(words[0])


def set_proxy(_cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDHttpProxy."""
    conf.proxy = values.proxy_url(words[0])


def set_binding(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDExternalAccountBinding: none, a key id with its MAC key, or a JSON file with both."""
    if len(words) > 1:
        conf.binding = (words[0], words[1])
        return
    if lower(words[0]) == "none":
        conf.binding = None
        return
    path = cmd.server_path(words[0])
    if not os.path.isfile(to_bytes(path)):
        raise MissingResource(f"{cmd.name}: file not found: {path}")
    try:
        record = json.loads(read_regular(to_bytes(path)))
    except (OSError, ValueError, RecursionError):
        raise ConfigError(f"{cmd.name}: error reading JSON file {path}") from None
    found = []
    for key in ("kid", "hmac"):
        value = record.get(key) if isinstance(record, dict) else None
        if not isinstance(value, str) or not value:
            raise ConfigError(f"{cmd.name}: JSON does not contain '{key}' element in file {path}")
        found.append(value)
    conf.binding = (found[0], found[1])


# settings of the server --------------------------------------------------------------------------
def set_port_map(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDPortMap."""
    for word in words:
        public, local = values.port_map(word)
        if public == 80:
            conf.local_80 = local
        else:
            conf.local_443 = local


def set_failover(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDRetryFailover."""
    if atoi(words[0]) <= 0:
        raise ConfigError("invalid argument, must be a number > 0")
    conf.retry_failover = atoi(words[0])


def set_locks(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDStoreLocks: on, off or the longest wait."""
    low = lower(words[0])
    seconds = {"on": 5.0, "off": 0.0}.get(low, values.duration(words[0]))
    if seconds is None:
        raise ConfigError("neither 'on', 'off' or a duration specified")
    conf.lock_wait = seconds


def set_match(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDMatchNames."""
    if lower(words[0]) not in ("all", "servernames"):
        raise ConfigError("invalid argument, must be a 'all' or 'servernames'")
    conf.match_servernames = lower(words[0]) == "servernames"


def set_dns01(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDChallengeDns01: of one domain inside of a section, else of all."""
    definition = definition_of(conf)
    if definition is not None:
        definition.own.dns01 = words[0]
        return
    check_context(cmd, _FORBIDDEN)
    cmd.main_server(MdGlobalConfig).dns01 = words[0]


def set_dns01_version(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDChallengeDns01Version."""
    if words[0] not in ("1", "2"):
        raise ConfigError("Only versions `1` and `2` are supported")
    conf.dns01_version = words[0]


def set_check(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDCertificateCheck: the name and the URL of a monitor of certificates."""
    conf.check_name, conf.check_url = words
