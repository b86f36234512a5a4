"""#include and #exec, and the files of #fsize and #flastmod. Manual: mod/mod_include.html#element.include."""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine.deps.files import is_file
from whimbrel.engine.lookahead import log_subrequest_limit
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_html, escape_shell, escape_uri, unescape_loose
from whimbrel.modules.filters.mod_include.document import Element
from whimbrel.modules.filters.mod_include.formatting import decode_entities
from whimbrel.modules.filters.mod_include.page import NESTED, Page
from whimbrel.modules.filters.mod_request import RetainedBody
from whimbrel.modules.support.cgi.environment import environment, overlap

_ABOVE: Final = "(20023)The given path was above the root path"


# Documents that include themselves more than once grow exponentially; httpd stops when it runs out of
# descriptors.
MAX_DOCUMENTS: Final = 4096


def inside(path: str) -> bool:
    """Return True if a relative path stays in its directory."""
    depth = 0
    for part in path.split("/"):
        if part == "..":
            depth -= 1
        elif part not in ("", "."):
            depth += 1
        if depth < 0:
            return False
    return not path.startswith("/")


def _normal(path: str) -> str:
    """Return *path* without dot segments and empty segments; a final slash stays."""
    segments: list[str] = []
    for part in path.split("/"):
        if part == "..":
            segments.pop()
        elif part not in ("", "."):
            segments.append(part)
    return "/".join(segments) + ("/" if segments and path.endswith("/") else "")


# Files of elements ------------------------------------------------------------------------
async def stat_target(page: Page, tag: str, name: str, value: str) -> os.stat_result | None:
    """Return the stat of the file that ``file=`` or ``virtual=`` names; None, logged, if there is none."""
    r = page.r
    where = f"in parsed file {r.filename}"
    if name == "file":
        if not inside(value):
            page.log(f'unable to access file "{value}" {where}', "AH02668", cause="" if page.old else _ABOVE)
            return None
        sub = await r.engine.lookup_file(r, _normal(value))
        words = "lookup information about"
        code = "AH02670"
    elif name == "virtual":
        sub = await r.engine.lookup_uri(r, value)
        words = "get information about"
        code = "AH01339"
    else:
        page.log(f'unknown parameter "{name}" to tag {tag} in {r.filename}', "AH01340")
        return None
    if sub.status == 200 and sub.finfo is not None:
        return sub.finfo
    page.log(f'unable to {words} "{value}" {where}', code)
    return None


# Including --------------------------------------------------------------------------------------
async def include(page: Page, element: Element) -> None:
    """Execute #include: append documents in order.

    After a failure ``virtual`` arguments are skipped and ``onerror`` and ``file`` are tried; a second failure
    ends the element.
    """
    if page.should_skip(element, "AH01341"):
        return
    failed = False
    for name, value in element.arguments:
        if value is None:
            break
        if name not in ("file", "virtual") and (name != "onerror" or page.old):
            page.refuse(f'unknown parameter "{name}" to tag include in {page.r.filename}', "AH01342")
            break
        if name == ("virtual" if failed else "onerror"):
            continue
        was_failed = failed
        problem = await _included(page, name, decode_entities(value))
        failed = problem is not None
        if problem is None:
            continue
        page.log(
            problem, cause="" if page.old or not problem.startswith("unable to include file") else _ABOVE
        )
        if page.old:
            page.fail()
            failed = False
        elif was_failed:
            break
    if failed:
        page.fail()


async def _included(page: Page, name: str, value: str) -> str | None:
    """Append the document that *value* names; return an error message, None after success."""
    r = page.r
    old = page.old
    where = f"in parsed file {r.filename}"
    target = page.substituted(value)
    failure = f'unable to include "{value}" {where}'
    if name == "file" and not inside(target):
        return f'unable to include file "{value}" {where}'
    if _too_many(r):
        return failure if old else f"{failure}, subrequest setup returned 500"
    if name == "file":
        sub = await r.engine.lookup_file(r, _normal(target))
    else:
        sub = await r.engine.lookup_uri(r, target, r.method if isinstance(r.body_in, RetainedBody) else "GET")
    if sub.status != 200:
        return failure if old else f"{failure}, subrequest setup returned {sub.status}"
    if page.no_exec and sub.content_type and not sub.content_type.startswith("text/"):
        return f'unable to include potential exec "{value}" {where}' + (
            "" if old else ", content type not text/*"
        )
    sub.notes[NESTED] = ""
    status = await run(page, sub)
    if status:
        return failure if old else f"{failure}, subrequest returned {status}"
    return None


def _too_many(r: Request) -> bool:
    """Return True if the response includes too many documents, which is logged as too deep nesting is."""
    view = r.deps
    view.nested += 1
    if view.nested <= MAX_DOCUMENTS:
        return False
    log_subrequest_limit(r)
    return True


async def run(page: Page, sub: Request) -> int:
    """Run a sub-request and append its output; return 0 or the status of a failure."""
    r = page.r
    body, r.body = r.body, page.out
    try:
        status: int = await r.engine.run_sub(sub)
    finally:
        r.body = body
    return status if status > 0 else 0


# Programs ---------------------------------------------------------------------------------------
def runner(page: Page) -> str:
    """Return the short name of the module that runs programs, "" without one."""
    plan = page.r.plan
    if plan.loaded("cgid_module"):
        return "cgid"
    if plan.loaded("cgi_module"):
        return "cgi"
    return ""


async def execute(page: Page, element: Element) -> None:
    """Execute #exec."""
    module = runner(page)
    if page.should_skip(element, "AH03195", module):
        return
    name = page.r.filename
    if page.no_exec:
        page.log(f"exec used but not allowed in {name}", "AH01228", module=module)
        page.fail()
        return
    for tag, value in element.arguments:
        if value is None:
            return
        value = decode_entities(value)
        if tag == "cmd":
            await _command(page, page.substituted(value, leave=True), module)
        elif tag == "cgi":
            if not await _script(page, page.substituted(value)):
                page.log(f'invalid CGI ref "{value}" in {name}', "AH01230", module=module)
                page.fail()
                return
        else:
            page.log(f'unknown parameter "{tag}" to tag exec in {name}', "AH01231", module=module)
            page.fail()
            return


async def _script(page: Page, url: str) -> bool:
    """Run the CGI script at *url* with the document's query; return False if there is none."""
    r = page.r
    sub = await r.engine.lookup_uri(r, url)
    if sub.status != 200 or sub.path_info or sub.args is not None or not is_file(sub.finfo):
        return False
    sub.path_info = r.path_info
    sub.args = r.args
    sub.content_type = "application/x-httpd-cgi"
    status = await run(page, sub)
    if 300 <= status < 400:
        location = escape_html(sub.headers_out.get("Location") or "")
        page.write(f'<a href="{location}">{location}</a>')
    return True


async def _command(page: Page, command: str, module: str) -> None:
    """Run a command line with /bin/sh; append its output, and log its standard error unchanged."""
    from whimbrel.modules.generators.mod_cgid import complain
    from whimbrel.modules.support.cgi.program import Output, Program

    r = page.r
    r.set_uncacheable()
    await _shell_variables(page)
    directory = os.path.dirname(to_bytes(r.filename or "")) or b"/"
    timeout = r.server_conf(CoreServerConfig).timeout
    limits = r.dir_config(CoreDirConfig).limits
    # suexec runs a file of the page's directory, and no shell
    wrap = r.engine.configuration.provider("suexec", "wrap")
    argv = (wrap and wrap(r, [to_bytes(command)])) or [b"/bin/sh", b"-c", to_bytes(command)]
    try:
        program = Program(argv, environment(r), directory, limits, lambda line: complain(r, to_text(line)))
    except OSError:
        page.log(
            f'execution failure for parameter "cmd" to tag exec in file {r.filename}',
            "AH01229",
            module=module,
        )
        page.fail()
        return
    program.end_input()
    late = partial(
        page.log, f"Timeout waiting for output from CGI script {r.filename}", "AH01220", "warn", module
    )
    page.out.append(Output(program, timeout, late, r.connection.open_sources))


async def _shell_variables(page: Page) -> None:
    r = page.r
    variables = {}
    if r.path_info:
        variables["PATH_INFO"] = escape_shell(r.path_info)
        sub = await r.engine.lookup_uri(r, escape_uri(r.path_info))
        if sub.filename:
            variables["PATH_TRANSLATED"] = sub.filename + (sub.path_info or "")
    if r.args is not None:
        variables["QUERY_STRING"] = r.args
        variables["QUERY_STRING_UNESCAPED"] = escape_shell(unescape_loose(r.args))
    overlap(r.env, variables)
