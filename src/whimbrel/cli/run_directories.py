"""Directories that apache2ctl of Debian makes before each action: of PidFile, sockets and locks.

They stand below /run, which is empty after each boot of the machine. The file envvars of the server root
names them and their owner (APACHE_RUN_DIR, APACHE_LOCK_DIR, APACHE_RUN_USER).
"""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Final

from whimbrel.base.accounts import user_named, user_numbered
from whimbrel.utilities.options import Exit

RUN_DIRECTORY: Final = "/var/run/apache2"
LOCK_DIRECTORY: Final = "/var/lock/apache2"
USER: Final = "www-data"


def make_directories(variables: Mapping[str, str]) -> None:
    """Make the missing directories. Raises Exit if one cannot be made."""
    owner = variables.get("APACHE_RUN_USER") or USER
    run = variables.get("APACHE_RUN_DIR") or RUN_DIRECTORY
    try:
        os.makedirs(run, exist_ok=True)
    except OSError as problem:
        sys.stderr.write(f"mkdir: cannot create directory '{problem.filename}': {problem.strerror}\n")
    for path in (os.path.join(run, "socks"), variables.get("APACHE_LOCK_DIR") or LOCK_DIRECTORY):
        if not os.path.isdir(path):
            _make_owned(path, owner)


def remove_session_caches(variables: Mapping[str, str]) -> None:
    """Remove the session caches that a server which did not end in order has left in its run directory."""
    run = glob.escape(variables.get("APACHE_RUN_DIR") or RUN_DIRECTORY)
    for path in glob.glob(f"{run}/*ssl_scache*"):
        with contextlib.suppress(OSError):
            os.unlink(path)


def _make_owned(path: str, owner: str) -> None:
    """Make a directory of *owner* with mode 755 in one step: it appears with its owner."""
    if os.path.lexists(path):
        sys.stdout.write(f"{path} already exists but is not a directory owned by {owner}.\n")
        raise _abort()
    try:
        temporary = tempfile.mkdtemp(prefix=f"{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
    except OSError as problem:
        raise Exit(
            1, f"mktemp: failed to create directory via template '{path}.XXXXXXXXXX': {problem.strerror}\n"
        ) from None
    try:
        os.chmod(temporary, 0o755)
        _give(temporary, owner)
        os.rename(temporary, path)
    except OSError:
        os.rmdir(temporary)
        if not _is_owned(path, owner):  # else another start was faster
            sys.stdout.write(f"Cannot create {path} with owner {owner}.\n")
            raise _abort() from None
    except Exit:
        os.rmdir(temporary)
        raise


def _give(path: str, owner: str) -> None:
    try:
        os.chown(path, user_named(owner).pw_uid, -1)
    except KeyError:
        raise Exit(1, f"chown: invalid user: '{owner}'\n") from None
    except OSError as problem:
        raise Exit(1, f"chown: changing ownership of '{path}': {problem.strerror}\n") from None


def _is_owned(path: str, owner: str) -> bool:
    try:
        return os.path.isdir(path) and user_numbered(os.lstat(path).st_uid).pw_name == owner
    except (OSError, KeyError):
        return False


def _abort() -> Exit:
    sys.stdout.write("Please fix manually. Aborting.\n")
    sys.stdout.flush()
    return Exit(1)
