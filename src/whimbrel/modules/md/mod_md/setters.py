"""Setters of mod_md's directives, with httpd's context checks and messages."""

from __future__ import annotations

import json
import os

from whimbrel.base.errors import ConfigError, MissingResource
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Final
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
from whimbrel.modules.support.setters import (
    Forbidden,
    set_choice,
    set_in_range,
    set_read,
    set_text,
    set_value,
)
from whimbrel.registry.settings import UNSET

SECTIONS = ("<MDomainSet", "<MDomain")
_FORBIDDEN = Forbidden.DIRECTORY | Forbidden.LOCATION
RENEW_MODES = {
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
    return set_value(name, values.on_or_off)


def window(name: str, field: str, limit: int = 100, too_much: str = "a") -> Setter:
    """Return the setter of a duration or a percentage."""
    return set_value(field, lambda word: values.window(name, word, limit=limit, too_much=too_much))


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


def set_authorities_file(name: str) -> Setter:
    """Return the setter of a file of trust anchors; none: the system's."""
    return set_read(name, lambda cmd, word: "" if lower(word) == "none" else cmd.server_path(word))


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


def set_locks(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDStoreLocks: on, off or the longest wait."""
    low = lower(words[0])
    seconds = {"on": 5.0, "off": 0.0}.get(low, values.duration(words[0]))
    if seconds is None:
        raise ConfigError("neither 'on', 'off' or a duration specified")
    conf.lock_wait = seconds


def set_dns01(cmd: Command, conf: MdServerConfig, words: list[str]) -> None:
    """MDChallengeDns01: of one domain inside of a section, else of all."""
    definition = definition_of(conf)
    if definition is not None:
        definition.own.dns01 = words[0]
        return
    check_context(cmd, _FORBIDDEN)
    cmd.main_server(MdGlobalConfig).dns01 = words[0]


def set_check(_cmd: Command, conf: MdGlobalConfig, words: list[str]) -> None:
    """MDCertificateCheck: the name and the URL of a monitor of certificates."""
    conf.check_name, conf.check_url = words


SERVER_SETTERS: Final[dict[str, Setter]] = {
    "MDCertificateAuthority": of_domains(set_authorities),
    "MDCertificateAgreement": of_domains(set_text("agreement")),
    "MDCAChallenges": of_domains(set_challenges),
    "MDCertificateProtocol": of_domains(set_text("protocol")),
    "MDContactEmail": of_domains(set_text("contact")),
    "MDDriveMode": of_domains(set_choice("renew_mode", RENEW_MODES, "unknown MDDriveMode {word}")),
    "MDRenewMode": of_domains(set_choice("renew_mode", RENEW_MODES, "unknown MDDriveMode {word}")),
    "MDomain": set_domain,
    "<MDomainSet": open_section,
    "<MDomain": open_section,
    "MDMember": add_members,
    "MDMembers": add_members,
    "MDMustStaple": of_domains(flag("must_staple")),
    "MDPortMap": of_server(set_port_map),
    "MDPrivateKeys": of_domains(set_keys),
    "MDHttpProxy": of_domains(set_value("proxy", values.proxy_url)),
    "MDStoreDir": of_server(set_text("store_dir")),
    "MDRenewWindow": of_domains(window("MDRenewWindow", "renew_window")),
    "MDRequireHttps": of_domains(
        set_choice(
            "require_https",
            ("off", "temporary", "permanent"),
            "unknown '{word}', supported parameter values are 'temporary' and 'permanent'",
        )
    ),
    "MDNotifyCmd": of_server(set_text("notify_command")),
    "MDBaseServer": of_server(flag("manages_main")),
    "MDChallengeDns01": set_dns01,
    "MDChallengeDns01Version": of_server(
        set_choice("dns01_version", ("1", "2"), "Only versions `1` and `2` are supported")
    ),
    "MDCertificateFile": add_file("certificate_files"),
    "MDCertificateKeyFile": add_file("key_files"),
    "MDServerStatus": of_server(flag("server_status"), may_be_inside=True),
    "MDCertificateStatus": of_server(flag("certificate_status"), may_be_inside=True),
    "MDWarnWindow": of_domains(window("MDWarnWindow", "warn_window")),
    "MDMessageCmd": of_server(set_text("message_command")),
    "MDStapling": of_domains(flag("stapling")),
    "MDStapleOthers": of_domains(flag("staple_others")),
    "MDStaplingKeepResponse": of_server(
        window("MDStaplingKeepResponse", "staple_keep", 2**63), may_be_inside=True
    ),
    "MDStaplingRenewWindow": of_server(
        window("MDStaplingRenewWindow", "staple_renew", too_much="with a"), may_be_inside=True
    ),
    "MDCertificateCheck": of_server(set_check, may_be_inside=True),
    "MDActivationDelay": of_server(delay("activation_delay", None, "", "d")),
    "MDCACertificateFile": of_domains(set_authorities_file("ca_file")),
    "MDHttpProxyCACertificateFile": of_domains(set_authorities_file("proxy_ca_file")),
    "MDExternalAccountBinding": of_domains(set_binding),
    "MDRetryDelay": of_server(delay("retry_delay", 0, "minimum delay must be greater than 0")),
    "MDRetryFailover": of_server(
        set_in_range("retry_failover", 1, None, "invalid argument, must be a number > 0")
    ),
    "MDStoreLocks": of_server(set_locks),
    "MDMatchNames": of_server(
        set_choice(
            "match_servernames",
            {"all": False, "servernames": True},
            "invalid argument, must be a 'all' or 'servernames'",
        )
    ),
    "MDInitialDelay": of_server(delay("initial_delay", -0.0005, "initial delay must not be negative")),
    "MDCheckInterval": of_server(
        delay("check_interval", 0.9995, "check interval cannot be less than one second")
    ),
    "MDProfile": of_domains(set_text("profile")),
    "MDProfileMandatory": of_domains(flag("profile_mandatory")),
    "MDRenewViaARI": of_domains(flag("ari")),
}
