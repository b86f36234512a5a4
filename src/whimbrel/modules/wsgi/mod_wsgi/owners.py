"""script-user and script-group of a process group: who must own a script and its directory."""

from __future__ import annotations

import os
from stat import S_IWGRP, S_IWOTH

from whimbrel.base.accounts import group_numbered, user_numbered
from whimbrel.base.latin1 import to_bytes
from whimbrel.engine.request import Request
from whimbrel.modules.wsgi.mod_wsgi.options import DaemonProcess


def owner_refusal(r: Request, daemon: DaemonProcess) -> tuple[str, str | None] | None:
    """Return why *daemon* must not run the script of *r*, and the path that this is about; None if it may."""
    if not daemon.script_user and not daemon.script_group:
        return None
    found = r.finfo
    if found is None:
        return "User information not available for WSGI script file", None
    directory = os.path.dirname(r.filename or "") + "/"
    try:
        parent = os.stat(to_bytes(directory))
    except OSError:
        return "Unable to stat parent directory of WSGI script", directory
    reason = _refusal(daemon, found, "WSGI script file")
    if not reason:
        reason = _refusal(daemon, parent, "parent directory of WSGI script file")
    return (reason, None) if reason else None


def _refusal(daemon: DaemonProcess, found: os.stat_result, what: str) -> str:
    """Return why *found*, the script or its directory, is refused, "" if it is not."""
    is_parent = what.startswith("parent")
    writable = "Parent directory of WSGI script file" if is_parent else what
    if daemon.script_group:
        try:
            name = group_numbered(found.st_gid).gr_name
        except KeyError:
            return f"Couldn't determine group of {what}, gid={found.st_gid}"
        if name != daemon.script_group:
            return f"Group of {what} does not match required group for daemon process, group={name}"
    else:
        try:
            name = user_numbered(found.st_uid).pw_name
        except KeyError:
            return f"Couldn't determine owner of {what}, uid={found.st_uid}"
        if name != daemon.script_user:
            return f"Owner of {what} does not match required user for daemon process, user={name}"
        if not is_parent and found.st_mode & S_IWGRP:
            return f"{writable} is writable to group"
    if found.st_mode & S_IWOTH:
        return f"{writable} is writable to world"
    if daemon.script_user and found.st_mode & S_IWGRP:
        return f"{writable} is writable to group"
    return ""
