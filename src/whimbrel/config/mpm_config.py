"""Process settings that the MPM directives fill and that the master and the workers read.

The directives are in modules/mpm/.  Manual: mod/mpm_common.html, mod/core.html, mod/mod_unixd.html.
"""

from __future__ import annotations

from whimbrel.base.accounts import group_named, user_named
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class MpmConfig:
    """The main server's process settings; None where a directive is absent.

    Paths are as written in the configuration, except those that must exist when they are read.
    """

    user: str = setting("")
    group: str = setting("")
    pid_file: str = setting("")
    scoreboard_file: str = setting("")
    lock_file: str = setting("")
    core_directory: str = setting("")
    chroot: str = setting("")
    run_directory: str = setting("")
    requests_per_child: int = setting(0)
    backlog: int = setting(511)
    graceful_timeout: int = setting(0)
    extended_status: bool | None = setting(None)
    see_request_tail: bool = setting(False)
    suexec: bool | None = setting(None)
    regex_options: frozenset[str] = setting(frozenset({"DOTALL", "DOLLAR_ENDONLY"}))
    start_servers: int | None = setting(None)
    server_limit: int | None = setting(None)
    thread_limit: int | None = setting(None)
    threads_per_child: int | None = setting(None)
    max_workers: int | None = setting(None)
    min_spare: int | None = setting(None)
    max_spare: int | None = setting(None)
    async_factor: float = setting(2.0)
    accept_mutex: str = setting("default")


def user_id(name: str) -> int | None:
    """Return the ID of a user name or ``#number`` (atoi, unsigned); None for an unknown name."""
    if name.startswith("#"):
        return atoi(name[1:]) & 0xFFFFFFFF
    try:
        return user_named(name).pw_uid
    except (KeyError, ValueError):
        return None


def group_id(name: str) -> int | None:
    """Return the numeric ID of a group name or of ``#number``; None for an unknown name."""
    if name.startswith("#"):
        return atoi(name[1:])
    try:
        return group_named(name).gr_gid
    except (KeyError, ValueError):
        return None
