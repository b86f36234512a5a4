"""mod_watchdog: periodic work for other modules.

Whimbrel's modules have their own timers, so the interval is only validated.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.modules.support.setters import timeout
from whimbrel.registry.module import Module

_SHORTEST = 100_000  # microseconds


def set_interval(_cmd: Command, _none: None, words: list[str]) -> None:
    """Set WatchdogInterval: at least a tenth of a second."""
    interval = timeout(words[0])
    if interval is None:
        raise ConfigError("Unparse-able WatchdogInterval setting")
    if interval < _SHORTEST:
        raise ConfigError("Invalid WatchdogInterval: minimal value 100ms")


MODULE = Module(
    name="watchdog_module",
    source="mod_watchdog.c",
    versions=Versions.V24,
    setters={
        "WatchdogInterval": set_interval,
    },
)
