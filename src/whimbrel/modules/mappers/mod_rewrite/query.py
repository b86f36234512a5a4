"""Query string of a rewritten URL: its start, and how it combines with the original one."""

from __future__ import annotations

from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.settings import Flag
from whimbrel.modules.mappers.mod_rewrite.template import Template
from whimbrel.modules.mappers.mod_rewrite.urls import absolute


def split_query(c: Context, flags: int, *, version22: bool) -> None:
    """Split the query string off the new URL (splitout_queryargs)."""
    r = c.r
    if flags & Flag.NO_QUERY:
        c.log_step(2, "discarding query string, no parse from substitution", in_directory=False)
        r.args = None
        return
    filename = r.filename or ""
    scheme, has_queries = absolute(filename, version22=version22)
    if scheme and not has_queries:
        r.args = None
        return
    if flags & Flag.DISCARD_QUERY:
        c.log_step(2, "discarding query string", in_directory=False)
        r.args = None
    mark = filename.rfind("?", scheme) if flags & Flag.LAST_QUERY else filename.find("?", scheme)
    if mark < 0:
        return
    r.filename = filename[:mark]
    query = filename[mark + 1 :]
    if not flags & Flag.APPEND_QUERY:
        r.args = query
    elif query or version22:
        r.args = f"{query}&{r.args or ''}"
    if r.args is not None:
        r.args = r.args.removesuffix("&") or None
    c.log_step(
        3,
        f"split uri={filename} -> uri={r.filename}, args={'<none>' if r.args is None else r.args}",
        in_directory=False,
    )


def unsafe_question_mark(flags: int, output: Template, values: list[str]) -> bool:
    """Return True if the question mark of the query comes from the request and not from the rule."""
    if flags & Flag.UNSAFE_3F:
        return False
    parts = list(zip(output.parts, values, strict=True))
    if flags & Flag.LAST_QUERY:
        parts.reverse()
    for part, value in parts:
        if "?" in value:
            return not isinstance(part, str)
    return False
