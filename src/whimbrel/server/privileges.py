"""User and Group: workers give up root before the first byte from a client.

The package may lie in a folder which that user can't read, so everything that a worker may import later is imported before: see `worker_imports`.
"""

from __future__ import annotations

import grp
import os
import pwd
import sys
from importlib import import_module
from typing import Final

from whimbrel.config.model import ServerSpec
from whimbrel.dialect import Dialect
from whimbrel.errors import StartError
from whimbrel.octets import raw, to_system
from whimbrel.server.words import coded

# What the standard library and the libraries import only when it is used.
worker_imports: Final = (
    "asyncio", "base64", "bisect", "calendar", "concurrent.futures.thread", "encodings.idna", "encodings.latin_1", "encodings.utf_8", "errno",
    "fnmatch", "hashlib", "hmac", "html", "ipaddress", "json", "secrets", "select", "shlex", "signal", "socket", "stat", "stringprep", "struct",
    "syslog", "tempfile", "threading", "traceback", "urllib.parse", "uvloop", "zlib",
)
# What a module of ours imports only when it is used: imported if the configuration has that module.
imports_of: Final = {
    "whimbrel.regex": ("pcre2",),
    "whimbrel.modules.passwords": (
        "bcrypt", "ctypes.util", "passlib.context", "passlib.handlers.des_crypt", "passlib.handlers.md5_crypt", "passlib.handlers.sha2_crypt",
        "passlib.hash"),
}


def import_everything() -> None:
    """Import what a worker may need."""
    for name in worker_imports:
        import_module(name)
    for module, names in imports_of.items():
        if module in sys.modules:
            for name in names:
                import_module(name)


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
