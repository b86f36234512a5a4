"""mod_reqtimeout: time limits for reading request heads and bodies.

The module stores the settings; connections read the `ReadLimits` of a server from the provider ("reqtimeout",
"limits"), the worker's clock reads ("reqtimeout", "first_timeouts").
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi, strtol
from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Server, unique_by
from whimbrel.config.read_limits import ReadLimit, ReadLimits
from whimbrel.directives.command import Command
from whimbrel.directives.tokens import words as split_words
from whimbrel.modules.support.setters import own
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import overlaid, setting

RATE = ",minrate="


@dataclass(slots=True)
class ReqtimeoutServerConfig:
    """RequestReadTimeout by phase; phases that are not set are absent."""

    limits: dict[str, ReadLimit] = setting(make=dict, merge=overlaid)


DEFAULTS_24 = {"header": ReadLimit(20, 40, 500), "body": ReadLimit(20, 0, 500)}


def _number(words: str) -> tuple[int, str]:
    value, rest = strtol(words)
    if rest == words:
        raise ConfigError(f"Value '{words}' not numerical")
    value = atoi(words)
    if value < 0:
        raise ConfigError("Value must be non-negative")
    return value, rest


def parse_limit(words: str) -> ReadLimit:
    """Parse ``20`` or ``20-40,MinRate=500``; raise ConfigError with httpd's messages."""
    at = words.lower().find(RATE)
    times, rate = (words, None) if at < 0 else (words[:at], words[at + len(RATE) :])
    if "-" in times and rate is None:
        raise ConfigError("Must set MinRate option if using timeout range")
    first, rest = _number(times)
    most = 0
    if rest.startswith("-"):
        most, rest = _number(rest[1:])
        if first and first >= most:
            raise ConfigError("Maximum timeout must be larger than initial timeout")
    if rest:
        raise ConfigError(f"Cannot parse '{rest}'")
    if rate is None:
        return ReadLimit(first)
    least, rest = _number(rate)
    if rest:
        raise ConfigError(f"Cannot parse '{rest}'")
    if least <= 0:
        raise ConfigError("Minimum data rate must be larger than 0")
    return ReadLimit(first, most, least)


def set_limits(cmd: Command, conf: ReqtimeoutServerConfig, words: list[str]) -> None:
    """Set any number of ``phase=limit``."""
    phases = ("handshake", "header", "body") if cmd.dialect.keywords_24 else ("header", "body")
    for word in split_words(words[0]):
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(
                "Invalid RequestReadTimeout parameter. Parameter must be in the form 'key=value'"
            )
        try:
            if name.lower() not in phases:
                raise ConfigError("Unknown RequestReadTimeout parameter")
            conf.limits = {**own(conf, "limits", dict), name.lower(): parse_limit(value)}
        except ConfigError as problem:
            raise ConfigError(f"RequestReadTimeout: {word}: {problem.reason}") from None


def limits_of(configuration: Configuration, server: Server) -> ReadLimits:
    """Return the limits of a server: 2.4 has defaults, 2.2 has none."""
    limits = dict(DEFAULTS_24) if configuration.dialect.reqtimeout_defaults else {}
    limits.update(server.config(ReqtimeoutServerConfig).limits)
    return ReadLimits(*(limits.get(phase, ReadLimit()) for phase in ("handshake", "header", "body")))


def first_timeouts(configuration: Configuration) -> set[float]:
    """Return the seconds that any server allows for the start of a head or of a body."""
    servers = unique_by(configuration.servers(), ReqtimeoutServerConfig)
    limits = [limits_of(configuration, server) for server in servers]
    return {float(phase.first) for server in limits for phase in (server.header, server.body)}


MODULE = Module(
    name="reqtimeout_module",
    source="mod_reqtimeout.c",
    server_config=ReqtimeoutServerConfig,
    server_setters={
        "RequestReadTimeout": set_limits,
    },
    providers=(
        Provider("reqtimeout", "limits", limits_of),
        Provider("reqtimeout", "first_timeouts", first_timeouts),
    ),
)
