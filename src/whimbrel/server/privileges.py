"""User and Group: workers give up root before the first byte from a client.

The package may lie in a folder which that user can't read, so everything that a worker may import later is imported before: see `worker_imports`.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import resource
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
DESCRIPTORS: Final = 65536
_LATE: Final = re.compile(r"^[ \t]+(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE)
_FOR_TYPES: Final = re.compile(r"^if TYPE_CHECKING:\n(?:[ \t]+.*\n|\n)+", re.MULTILINE)
_NAMES: Final = re.compile(r"(\w+)(?:[ \t]+as[ \t]+\w+)?")
_MODULES: Final = re.compile(r"([\w.]+)(?:[ \t]+as[ \t]+\w+)?")
# What the libraries that a module of ours uses import behind the scenes.
imports_of: Final = {
    "whimbrel.modules.passwords": (
        "bcrypt", "ctypes.util", "passlib.context", "passlib.handlers.des_crypt", "passlib.handlers.md5_crypt", "passlib.handlers.sha2_crypt",
        "passlib.hash"),
}


def import_everything(done: set[str] | None = None, *, spared: str = "") -> None:
    """Import what a worker may need: the names above, and whatever a function of a loaded module of ours imports when it is called.

    *done* are modules that were looked at before; it grows.  *spared* is a module that nothing will ask for.
    """
    for name in worker_imports:
        import_module(name)
    done = set() if done is None else done
    while fresh := {name for name in sys.modules if name.startswith("whimbrel.")} - done:
        done |= fresh
        for module in fresh:
            for name in (*imports_of.get(module, ()), *sorted(late_imports(module))):
                package, _, last = name.rpartition(".")
                if (spared and spared in (name, package)) or (package in sys.modules and hasattr(sys.modules[package], last)):
                    continue
                try:
                    import_module(name)
                except ImportError:
                    continue  # a library that need not be there, or an attribute that is no module


def late_imports(module: str) -> set[str]:
    """The modules that functions of *module* import, as its source says; a name after ``import`` may be one, too."""
    source = _source(module)
    found: set[str] = set()
    for package, names, plain in _LATE.findall(_FOR_TYPES.sub("", source)) if source else ():
        if package:
            found.add(package)
            found.update(f"{package}.{name}" for name in _NAMES.findall(names))
        else:
            found.update(_MODULES.findall(plain))
    return found


def _source(module: str) -> str:
    """The text of a module's file, "" where there is none."""
    try:
        with open(sys.modules[module].__file__ or "", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


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
