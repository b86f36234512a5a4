"""User and Group: workers give up root before the first byte from a client.

The package may lie in a folder which that user can't read, so everything that a worker may import later is imported before: see `worker_imports`.
"""

from __future__ import annotations

import dis
import grp
import os
import pwd
import resource
import sys
from collections.abc import Iterator
from importlib import import_module
from types import CodeType
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
_IMPORT: Final = dis.opmap["IMPORT_NAME"]
# What the libraries that a module of ours uses import behind the scenes.
imports_of: Final = {
    "whimbrel.modules.passwords": (
        "bcrypt", "ctypes.util", "passlib.context", "passlib.handlers.des_crypt", "passlib.handlers.md5_crypt", "passlib.handlers.sha2_crypt",
        "passlib.hash"),
}


def import_everything(done: set[str] | None = None) -> None:
    """Import what a worker may need: the names above, and whatever a function of a loaded module of ours imports when it is called.

    *done* are modules that were looked at before; it grows.
    """
    for name in worker_imports:
        import_module(name)
    done = set() if done is None else done
    while fresh := {name for name in sys.modules if name.startswith("whimbrel.")} - done:
        done |= fresh
        for module in fresh:
            for name in (*imports_of.get(module, ()), *late_imports(module)):
                try:
                    import_module(name)
                except ImportError:
                    continue  # a library that need not be there, or an attribute that is no module


def late_imports(module: str) -> set[str]:
    """The modules that functions of *module* import, as their byte code says."""
    spec = sys.modules[module].__spec__
    loader = getattr(spec, "loader", None)
    code = loader.get_code(module) if loader is not None else None
    return set() if code is None else {name for part in _functions(code) for name in _imported(part)}


def _functions(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _functions(part)


def _imported(code: CodeType) -> Iterator[str]:
    if _IMPORT not in code.co_code[::2]:
        return
    names: tuple[str, ...] = ()
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            yield step.argval
            yield from (f"{step.argval}.{name}" for name in names or ())
        elif step.opname == "LOAD_CONST":
            names = step.argval if isinstance(step.argval, tuple) and all(isinstance(n, str) for n in step.argval) else ()


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
