"""Settings of connections to cache servers: times, and lists of servers."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.modules.support.setters import timeout

MAX_SECONDS: Final = 3600
MICROSECONDS: Final = 1_000_000


def set_time(field: str, name: str) -> Setter:
    """Return the setter of a time of up to an hour into seconds."""

    def apply(_cmd: Command, record: object, words: list[str]) -> None:
        value = timeout(words[0], "s")
        if value is None:
            raise ConfigError(f"{name} has wrong format")
        if value > MAX_SECONDS * MICROSECONDS:
            raise ConfigError(f"{name} can only be 0 or up to one hour.")
        setattr(record, field, value / MICROSECONDS)

    return apply


def servers_check(name: str, port: int) -> Callable[[str], str]:
    """Return the check of a list of servers: it returns httpd's message, "" for none."""

    def check(argument: str) -> str:
        from whimbrel.modules.cache.remote_cache import (
            read_servers,  # only configurations with servers need it
        )

        if not argument:
            return f"List of server names required to create {name} socache."
        return "" if read_servers(argument, port) else f"Invalid {name} server list: {argument}"

    return check
