"""User and Group: workers give up root before they read the first byte from a client.

Modules that they may import later are imported before: see `preload`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from whimbrel.base.accounts import group_named, user_numbered
from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import StartError, apr_error
from whimbrel.base.latin1 import to_bytes, to_system
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import Final
from whimbrel.config.model import ServerSpec
from whimbrel.config.mpm_config import user_id
from whimbrel.server.master.messages import with_code

DESCRIPTORS: Final = 65536
UNKNOWN: Final = 0xFFFFFFFF  # unsigned ID of an unknown user or group


def raise_limits() -> None:
    """Raise the limit of descriptors to `DESCRIPTORS`: a worker holds all its connections."""
    import resource  # imported late: clients may connect before this

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class DropError(Exception):
    """Error: the worker could not become the configured user; *cause*, *code* and *text* are httpd's."""

    def __init__(self, problem: OSError | None, code: str, text: str) -> None:
        super().__init__(text)
        self.cause = apr_error(problem) if problem is not None else ""
        self.code = code
        self.text = text


def check(spec: ServerSpec, dialect: Dialect) -> None:
    """Raise StartError if root has no User to serve as."""
    if os.getuid() == 0 and not spec.user:
        text = (
            "Server MUST relinquish startup privileges before accepting connections.  "
            "Please ensure mod_unixd or other system security module is loaded."
        )
        raise StartError(
            with_code(dialect, "AH00136", text), with_code(dialect, "AH00016", "Configuration Failed")
        )


def drop(spec: ServerSpec) -> None:
    """Become the configured user permanently; an ordinary user stays the same. Raises DropError."""
    if os.getuid() != 0 or not spec.user:
        return
    user = user_id(spec.user)
    group = _group_id(spec.group)
    try:
        name = user_numbered(user if user is not None else UNKNOWN).pw_name
    except (KeyError, OverflowError):
        raise DropError(
            None,
            "AH02155",
            f"getpwuid: couldn't determine user name from uid {UNKNOWN if user is None else user}, "
            "you probably need to modify the User directive",
        ) from None
    _attempt(lambda: os.setgid(group), "AH02156", f"setgid: unable to set group id to Group {group}")
    _attempt(
        lambda: os.initgroups(name, group),
        "AH02157",
        f"initgroups: unable to set groups for User {name} and Group {group}",
    )
    if spec.chroot:
        _attempt(lambda: os.chdir(to_bytes(spec.chroot)), "", f"unable to chdir to {spec.chroot}")
        _attempt(lambda: os.chroot(to_bytes(spec.chroot)), "", f"unable to chroot to {spec.chroot}")
    _attempt(lambda: os.setuid(user or UNKNOWN), "AH02162", f"setuid: unable to change to uid: {user}")
    if os.getuid() == 0 or os.geteuid() == 0:
        raise DropError(None, "AH02162", f"setuid: unable to change to uid: {user}")


def _group_id(name: str) -> int:
    """Return the ID of a group or ``#number``, as gid_t; UNKNOWN for "", which setgid(2) refuses."""
    if name.startswith("#"):
        return atoi(name[1:]) & UNKNOWN
    try:
        return group_named(to_system(name)).gr_gid
    except (KeyError, ValueError):
        return UNKNOWN


def _attempt(call: Callable[[], None], code: str, text: str) -> None:
    try:
        call()
    except OSError as problem:
        raise DropError(problem, code, text) from None
    except OverflowError:
        raise DropError(OSError(errno.EINVAL, ""), code, text) from None
