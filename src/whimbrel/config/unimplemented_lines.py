"""Lines of modules that have no behaviour here, recorded while a configuration is executed."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Protocol
from whimbrel.catalogue.ignorable import ignorable_reason
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.directives.command import Command


class ConfigurationCommand(Command, Protocol):
    """A directive in execution that belongs to a configuration being read."""

    configuration: Configuration


# Directives of .htaccess that matter only where no other module knows a file's type: a request gets as far as
# that, and is refused there.
_CHECKED_LATE = {("mod_lua.c", "LuaHookTypeChecker")}


def record(state: ConfigurationCommand, name: str, source: str) -> None:
    """Remember a directive without behaviour; ConfigError in .htaccess unless it can be left out."""
    if not state.in_htaccess:
        state.configuration.unimplemented.append((state.node, source))
    elif (source, name) in _CHECKED_LATE:
        state.dir_config(CoreDirConfig).missing_type_checker = f"{name} ({source})"
    elif not ignorable_reason(source, name, state.node.args, state.configuration.available, in_htaccess=True):
        raise ConfigError(f"{name} ({source}) has no behaviour in Whimbrel yet")
