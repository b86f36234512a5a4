"""suEXEC: programs that run as another user, started by the machine's setuid program `suexec`.

The identity is that of mod_userdir (``/~user`` URLs), else that of SuexecUserGroup. suexec itself decides
whether it runs the program; its refusals are the program's standard error. Manual: suexec.html.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Final

from whimbrel.base.accounts import user_named
from whimbrel.base.dialect import Dialect
from whimbrel.base.latin1 import to_system
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.config.configuration import Configuration
    from whimbrel.engine.request import Request

USER_NOTE: Final = "mod_userdir_user"  # note of a request that mod_userdir sets
WRAPPER_24: Final = "/usr/lib/apache2/suexec"
WRAPPER_22: Final = "/usr/local/apache2/bin/suexec"
_WRAP: Final = ("suexec", "wrap")  # provider: `wrapped`, if suEXEC is enabled


@dataclass(slots=True)
class SuexecServerConfig:
    """Per-server settings: numeric user and group of SuexecUserGroup, "" for none."""

    user: str = setting("")
    group: str = setting("")


def wrapper_of(dialect: Dialect) -> str:
    """Return the path of the suexec program (SUEXEC_BIN)."""
    return WRAPPER_22 if dialect.wire_22 else WRAPPER_24


def disabled_reason(path: str) -> str:
    """Return why suEXEC cannot work, "" if it can: *path* is an executable setuid program of root."""
    try:
        info = os.stat(path)
    except OSError:
        return f"Missing suexec binary {path}"
    if info.st_mode & stat.S_ISUID and info.st_uid == 0 and os.access(path, os.R_OK | os.X_OK):
        return ""
    return f"Invalid owner or file mode for {path}"


def disabled_now(main: MpmConfig, dialect: Dialect) -> str:
    """Return the reason why suEXEC is disabled, as the lines before the present one decide; "" if enabled."""
    if main.suexec is False:
        return "Suexec directive is Off"
    return disabled_reason(wrapper_of(dialect))


def enable(configuration: Configuration) -> bool:
    """Register `wrapped` for handlers that run programs, and return True, if suEXEC is enabled."""
    if disabled_now(configuration.main.config(MpmConfig), configuration.dialect):
        return False
    configuration.modules.register_provider(*_WRAP, wrapped)
    return True


def wrapped(r: Request, argv: list[bytes]) -> list[bytes] | None:
    """Return the command that runs *argv* as the user of *r*; None if it runs as the server's user."""
    identity = _identity(r)
    if identity is None:
        return None
    user, group = identity
    name = argv[0].rpartition(b"/")[2]
    return [wrapper_of(r.plan.dialect).encode(), user.encode(), group.encode(), name, *argv[1:]]


def _identity(r: Request) -> tuple[str, str] | None:
    """Return the user and the group as suexec expects them; a user of a /~user URL has a tilde."""
    name = r.notes.get(USER_NOTE)
    if name is not None:
        try:
            entry = user_named(to_system(name))
        except (KeyError, ValueError):
            pass  # as in httpd, the next identity counts
        else:
            return f"~{entry.pw_uid}", str(entry.pw_gid)
    conf = r.server_conf(SuexecServerConfig)
    return (conf.user, conf.group) if conf.user else None
