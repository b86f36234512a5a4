"""Result of a server's rules as a path: a file on disk, or a path below the document root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.modules.core.handler import joined
from whimbrel.modules.mappers.mod_rewrite.engine import RewriteRun
from whimbrel.modules.mappers.mod_rewrite.settings import Flag
from whimbrel.modules.mappers.mod_rewrite.variables import context, document_root
from whimbrel.registry.phases import OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


def as_file(r: Request, run: RewriteRun) -> HookStatus:
    """Use `r.filename` as a file if its first directory exists and the rule allows it, else as a URL path."""
    c = run.c
    old = run.rules.version22
    name = r.filename or ""
    if (
        not old
        and run.last is not None
        and not run.last.flags & Flag.UNC
        and not run.last.rule.output.startswith("//")
    ):
        while name.startswith("//"):
            name = name[1:]
        r.filename = name
    c.log_step(2, f"local path result: {name}")
    if not name.startswith("/"):
        return 400
    if not _exists(r, run):
        path = joined(document_root(r), _below(r, name))
        if path is None:
            c.log_step(1, f"prefixing with document_root of {name} FAILED")
            return 403
        r.filename = path
        r.canonical_filename = path
        c.log_step(2, f"prefixed with document_root to {r.filename}")
    c.log_step(1, f"go-ahead with {r.filename} [OK]")
    return OK


def _below(r: Request, path: str) -> str:
    """Return the path without ServerPath."""
    prefix = r.server.path
    if (
        prefix
        and path.startswith(prefix)
        and (prefix.endswith("/") or path[len(prefix) : len(prefix) + 1] in ("", "/"))
    ):
        return path[len(prefix) :]
    return path


def _exists(r: Request, run: RewriteRun) -> bool:
    """Return True if the first directory of the path exists.

    2.4 also requires that the rule names it, or that the path lies below the document root.
    """
    path = r.filename or ""
    first = "/" + path.lstrip("/").partition("/")[0]
    if first in ("/..", "/."):
        return False
    if r.deps.stat(first) is None:
        return False
    if run.rules.version22:
        return True
    c = run.c
    last = run.last
    if last is None:
        c.log_step(3, f"prefix_stat no lastsub subst prefix {first}")
        return True
    output = last.rule.output
    trusted = bool(last.flags & Flag.UNSAFE_PREFIX)
    c.log_step(
        3,
        f"prefix_stat compare statpath {first} and lastsub output {output} STATOK "
        f"{Flag.UNSAFE_PREFIX if trusted else 0} ",
        in_directory=False,
    )
    if trusted or _starts(run, output, first) or _starts(run, path, document_root(r)):
        return True
    place = context(r)[1]
    return place != document_root(r) and _starts(run, path, place)


def _starts(run: RewriteRun, text: str, prefix: str) -> bool:
    is_prefix = text.startswith(prefix)
    run.c.log_step(5, f"prefix_stat startsWith({text}, {prefix}) {int(is_prefix)}", in_directory=False)
    return is_prefix
