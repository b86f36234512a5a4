"""Symbolic links: Options FollowSymLinks and SymLinksIfOwnerMatch (httpd's resolve_symlink)."""

from __future__ import annotations

import errno
import os

from whimbrel.config.core_config import OPT_SYM_LINKS, OPT_SYM_OWNER
from whimbrel.engine.deps.files import is_directory, is_file, is_link
from whimbrel.engine.request import Request
from whimbrel.registry.phases import OK, HookStatus


def check_symlink(
    r: Request, path: str, info: os.stat_result | None
) -> tuple[HookStatus, os.stat_result | None]:
    """Check *path*, whose lstat is *info*, against the options; return a status and the target's stat."""
    if info is None:
        why = r.deps.errno
        return (OK, None) if why == errno.ENOENT else (_log_refused(r, path, why), None)
    if is_link(info):
        info = link_target(r, path, info, code="AH00037")
        if info is None:
            return 403, None
    if not is_directory(info) and not is_file(info):
        r.log("error", f"Forbidden: {path} doesn't point to a file or directory", code="AH00038")
        return 403, None
    return OK, info


def _log_refused(r: Request, path: str, why: int) -> HookStatus:
    cause = f"({why}){os.strerror(why)}"
    if why == errno.EACCES:
        tail = "because search permissions are missing on a component of the path"
        text = f"access to {r.uri} denied (filesystem path '{path}') {tail}"
        r.log("error", text, code="AH00035", cause=cause)
    else:
        text = f"access to {r.uri} failed (filesystem path '{path}')"
        r.log("error", text, code="AH00036", cause=cause)
    return 403


def link_target(r: Request, path: str, link: os.stat_result, *, code: str) -> os.stat_result | None:
    """Return the target of a link that the options allow, else log a line of *code*; None."""
    value = r.plan.core.options.value
    target = r.deps.stat(path) if value & (OPT_SYM_LINKS | OPT_SYM_OWNER) else None
    if target is None or (value & OPT_SYM_OWNER and target.st_uid != link.st_uid):
        r.log("error", f"Symbolic link not allowed or link target not accessible: {path}", code=code)
        return None
    return target
