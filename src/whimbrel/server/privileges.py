"""User and Group: workers give up root before the first byte from a client.  What they may import later is imported before: see `imports`."""

from __future__ import annotations

import grp
import os
import pwd
import resource
from typing import Final

from whimbrel.config.model import ServerSpec
from whimbrel.dialect import Dialect
from whimbrel.errors import StartError
from whimbrel.octets import raw, to_system
from whimbrel.server.words import coded

DESCRIPTORS: Final = 65536


def raise_limits() -> None:
    """Let each process have as many descriptors as it may, within reason: a worker has all of its connections in one process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def number_of(name: str, *, group: bool = False) -> int:
    """The number behind ``#33`` or a name; raises KeyError."""
    if name.startswith("#"):
        return int(name[1:])
    return grp.getgrnam(to_system(name)).gr_gid if group else pwd.getpwnam(to_system(name)).pw_uid


def check(spec: ServerSpec, dialect: Dialect) -> None:
    """Root needs a User to serve as; raises StartError."""
    if os.getuid() == 0 and not spec.user:
        text = ("Server MUST relinquish startup privileges before accepting connections.  "
                "Please ensure mod_unixd or other system security module is loaded.")
        raise StartError(coded(dialect, "AH00136", text), coded(dialect, "AH00016", "Configuration Failed"))


def drop(spec: ServerSpec) -> None:
    """Become the configured user, for good; an ordinary user stays who he is.  Raises OSError or KeyError."""
    if os.getuid() != 0 or not spec.user:
        return
    user = number_of(spec.user)
    if spec.group:
        group = number_of(spec.group, group=True)
        os.setgid(group)
    else:
        group = os.getgid()
    try:
        os.initgroups(pwd.getpwuid(user).pw_name, group)
    except KeyError:
        os.setgroups([group])
    if spec.chroot:
        os.chdir(raw(spec.chroot))
        os.chroot(raw(spec.chroot))
    os.setuid(user)
    if os.getuid() == 0 or os.geteuid() == 0:
        raise PermissionError("still root")
