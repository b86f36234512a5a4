"""Where a configuration is when the command line doesn't say, and Debian's way of keeping one."""

from __future__ import annotations

import os

DEBIAN = "/etc/apache2"
DEFAULT_ROOT = "/usr/local/apache2"


def is_debian(root: str) -> bool:
    """Whether *root* is kept as Debian does: apache2.conf, with its variables in envvars."""
    return os.path.isfile(os.path.join(root, "apache2.conf")) and os.path.isfile(
        os.path.join(root, "envvars")
    )


def root_of(root_option: str) -> str:
    """The server root: *given* without a slash at its end, or the place where this system keeps one."""
    if root_option:
        return os.path.abspath(root_option)
    return DEBIAN if is_debian(DEBIAN) else DEFAULT_ROOT


def file_of(root: str) -> str:
    """The configuration file below *root* when none is named."""
    return (
        "apache2.conf"
        if is_debian(root) and not os.path.isfile(os.path.join(root, "conf/httpd.conf"))
        else "conf/httpd.conf"
    )


def envvars_of(envvars_option: str, root: str) -> str:
    """The file of variables to read before the configuration: *given*, or a Debian folder's own; "" for none."""
    return envvars_option or (os.path.join(root, "envvars") if is_debian(root) else "")


def read_envvars(path: str, root: str) -> dict[str, str]:
    """The environment after sh(1) has read *path*, as apache2ctl reads it; raises OSError when it can't be read."""
    with open(path, "rb"):
        pass
    output = _output_of(
        ["/bin/sh", "-c", '. "$0" >/dev/null; exec /usr/bin/env -0', path if "/" in path else f"./{path}"],
        {**os.environ, "APACHE_CONFDIR": root},
    )
    pairs = (entry.partition(b"=") for entry in output.split(b"\0") if b"=" in entry)
    return {
        os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs if key not in (b"_", b"PWD", b"SHLVL")
    }


def _output_of(argv: list[str], environment: dict[str, str]) -> bytes:
    """What a program writes; the module subprocess takes longer to import than a small configuration to check."""
    ours, theirs = os.pipe()
    try:
        pid = os.posix_spawn(argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
    finally:
        os.close(theirs)
    with open(ours, "rb") as file:
        output = file.read()
    os.waitpid(pid, 0)
    return output
