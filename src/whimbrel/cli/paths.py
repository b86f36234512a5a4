"""Default locations of a configuration, and Debian's layout."""

from __future__ import annotations

import os

from whimbrel.base.builds import ANY, DEBIAN, Build
from whimbrel.base.programs import require_programs

DEBIAN_ROOT = Build(DEBIAN, "2.4").root


def is_debian(root: str) -> bool:
    """Return True if *root* has the layout of Debian: apache2.conf, with its variables in envvars."""
    return os.path.isfile(os.path.join(root, "apache2.conf")) and os.path.isfile(
        os.path.join(root, "envvars")
    )


def root_of(root_option: str, build: Build | None = None) -> str:
    """Return the server root: the option without a slash at its end, or that of the build; of any build,
    that of this system.
    """
    if root_option:
        return os.path.abspath(root_option)
    build = build or Build(ANY, "2.4")
    return DEBIAN_ROOT if is_debian(DEBIAN_ROOT) and build.loads_built_in else build.root


def file_of(root: str, build: Build | None = None) -> str:
    """Return the configuration file below *root* if none is named: that of the build; of any build, or if it
    is missing, the file that exists.
    """
    if build and not build.loads_built_in and os.path.isfile(os.path.join(root, build.file)):
        return build.file
    if build and build.name == DEBIAN and not os.path.isfile(os.path.join(root, "conf/httpd.conf")):
        return build.file
    return (
        "apache2.conf"
        if is_debian(root) and not os.path.isfile(os.path.join(root, "conf/httpd.conf"))
        else "conf/httpd.conf"
    )


def envvars_of(envvars_option: str, root: str) -> str:
    """Return the file of variables to read first: the option, or Debian's envvars; "" for none."""
    return envvars_option or (os.path.join(root, "envvars") if is_debian(root) else "")


def source_envvars(path: str, root: str) -> dict[str, str]:
    """Return the environment after sh(1) has read *path*, as apache2ctl reads it; raises OSError.

    For commands that serve; others read the file as text (`cli/envvars.py`).
    """
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
    """Return the output of a program.

    Importing subprocess takes longer than checking a small configuration.
    """
    require_programs()
    ours, theirs = os.pipe()
    try:
        pid = os.posix_spawn(argv[0], argv, environment, file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 1)])
    finally:
        os.close(theirs)
    with open(ours, "rb") as file:
        output = file.read()
    os.waitpid(pid, 0)
    return output
