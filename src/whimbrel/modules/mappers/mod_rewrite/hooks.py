"""Hooks of the rules: a server's run at URL translation, a directory's in the fix-up phase.

Results of a directory's rules are internal redirects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.config.core_config import OPT_SYM_LINKS, OPT_SYM_OWNER, CoreDirConfig
from whimbrel.engine import identity
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.mappers.mod_rewrite.compiled import RuleList, rule_list
from whimbrel.modules.mappers.mod_rewrite.engine import (
    HANDLER_NOTE,
    PASS_THROUGH,
    PROXY,
    TYPE_NOTE,
    Outcome,
    RewriteRun,
    run_now,
)
from whimbrel.modules.mappers.mod_rewrite.local_path import as_file
from whimbrel.modules.mappers.mod_rewrite.log import log_function
from whimbrel.modules.mappers.mod_rewrite.settings import (
    RewriteDirConfig,
    RewriteOptions,
    RewriteServerConfig,
)
from whimbrel.modules.mappers.mod_rewrite.urls import (
    absolute,
    escape_absolute,
    has_blank_or_control,
    replaced_prefix,
)
from whimbrel.modules.mappers.mod_rewrite.variables import context, document_root
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, FORWARD_PROXY, OK, REVERSE_PROXY, HookStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from whimbrel.engine.request import Request
    from whimbrel.registry.phases import HookFn

_log = module_log("rewrite")

REDIRECT: Final = "redirect:"
REDIRECT_HANDLER: Final = "redirect-handler"
_END_NOTE: Final = "mod_rewrite_end"
_ANY_URI_HINT: Final = (
    "Consult the manual entry for the RewriteOptions directive for options and caveats about matching other "
    "strings."
)


# Servers ----------------------------------------------------------------------------------------
def make_translate(scope: Scope) -> CompiledHook | None:
    """Make the hook of a server's rules.

    2.4 reads RewriteEngine of the directory settings, which <Location> may change; 2.2 that of the server.
    """
    server = scope.server_config(RewriteServerConfig)
    dir_config = scope.dir_config(RewriteDirConfig)
    new = not scope.dialect.rewrite_22
    if not (dir_config.engine if new else server.engine):
        return None
    rules = rule_list(scope, server.rules, "")
    any_uri = (dir_config.options if new else server.options) & RewriteOptions.ANY_URI
    proxied = scope.loaded("proxy_module")
    virtual = server.virtual
    reads = rules.reads | (Reads.UNCACHEABLE if rules.log is not None and not new else Reads.NOTHING)

    def begin(r: Request) -> RewriteRun | None:
        if r.server.is_virtual is not virtual or _ended(r, rules):
            return None
        if not any_uri and (r.untracked_target == "*" or not r.uri.startswith("/")):
            if rules.log is not None:
                rules.log(r, 8, "", f"Declining, request-URI '{r.uri}' is not a URL-path. {_ANY_URI_HINT}")
            return None
        _script_variables(r)
        if r.filename is None:
            r.filename = r.uri
            run = RewriteRun(rules, r)
            run.c.log_step(2, f"init rewrite engine with requested uri {r.filename}")
            return run
        run = RewriteRun(rules, r)
        run.c.log_step(2, f"init rewrite engine with passed filename {r.filename}. Original uri = {r.uri}")
        return run

    def finish(r: Request, run: RewriteRun, outcome: Outcome) -> HookStatus:
        _remember_end(r, run)
        if outcome is Outcome.NOTHING:
            run.c.log_step(1, f"pass through {r.filename}")
            return DECLINED
        return _server_result(r, run, outcome, proxied)

    return _compiled_hook(rules, begin, finish, reads)


def _compiled_hook(
    rules: RuleList,
    begin: Callable[[Request], RewriteRun | None],
    finish: Callable[[Request, RewriteRun, Outcome], HookStatus],
    reads: Reads,
) -> CompiledHook:
    """Return the hook of a run: *begin* creates it or declines, *finish* returns its status."""
    if rules.waits:

        async def later(r: Request) -> HookStatus:
            run = begin(r)
            if run is None:
                return DECLINED
            return finish(r, run, await run.all())

        return CompiledHook(later, reads, is_async=True)

    def now(r: Request) -> HookStatus:
        run = begin(r)
        if run is None:
            return DECLINED
        return finish(r, run, run_now(run.all()))

    return CompiledHook(now, reads)


def _script_variables(r: Request) -> None:
    """Set SCRIPT_URL and SCRIPT_URI, the URL before any rule."""
    if r.main is None:
        url = r.env.get("REDIRECT_SCRIPT_URL", r.uri)
    else:
        url = r.main.env.get("SCRIPT_URL", r.uri)
    r.env["SCRIPT_URL"] = url
    r.env["SCRIPT_URI"] = identity.construct_url(r, url)


def _ended(r: Request, rules: RuleList) -> bool:
    """Return True if a rule with END has run for this request, or for one that was redirected here.

    Sub-requests start without END, and END in one of them has no effect on a request that replaces it.
    """
    request: Request | None = r
    while request is not None:
        if request.notes.get(_END_NOTE) == _depth(request):
            if rules.log is not None:
                rules.log(r, 8, rules.directory, "Declining, no further rewriting due to END flag")
            return True
        request = request.prev
    return False


def _depth(r: Request) -> str:
    """Return the sub-request depth of *r* as a note's text."""
    depth = 0
    while r.main is not None:
        depth, r = depth + 1, r.main
    return str(depth)


def _remember_end(r: Request, run: RewriteRun) -> None:
    if run.end:
        r.notes[_END_NOTE] = _depth(r)


def _refused(r: Request, run: RewriteRun, outcome: Outcome, scheme: int) -> HookStatus | None:
    """Return the status if the rules have set one, or if the new query is invalid (2.4)."""
    escapes = scheme and outcome is not Outcome.CHANGED_NO_ESCAPE
    args = r.untracked_args  # a request without query has no dependency on it
    if args and not escapes and not run.rules.version22 and has_blank_or_control(args):
        code = "AH10411" if run.c.directory else "AH10410"
        _log(r, "error", code, "Rewritten query string contains control characters or spaces")
        return 403
    if outcome is Outcome.STATUS:
        status: HookStatus = r.status
        r.status = 200
        return status
    return None


def _server_result(r: Request, run: RewriteRun, outcome: Outcome, proxied: bool) -> HookStatus:
    old = run.rules.version22
    name = r.filename or ""
    scheme, _ = absolute(name, version22=old)
    status = _refused(r, run, outcome, scheme)
    if status is not None:
        return status
    if name.startswith(PROXY):
        return _to_proxy(r, run, outcome, proxied)
    if scheme:
        return _redirect(r, run, outcome, scheme)
    if name.startswith(PASS_THROUGH):
        r.uri = name[len(PASS_THROUGH) :]
        return DECLINED
    return as_file(r, run)


def _to_proxy(r: Request, run: RewriteRun, outcome: Outcome, proxied: bool) -> HookStatus:
    """Hand the request to mod_proxy, if it is loaded."""
    if not proxied:
        code = "AH10160" if run.c.directory else "AH00669"
        _log(
            r,
            "error",
            code,
            f"attempt to make remote request from mod_rewrite without proxy enabled: {r.filename}",
        )
        return 403
    if outcome is Outcome.CHANGED_NO_ESCAPE:
        r.notes["proxy-nocanon"] = "1"
    name = r.filename or ""
    if not run.c.directory:
        name += r.path_info or ""
    # mod_proxy appends the query of every other URL where it makes the canonical form
    is_final = r.proxy == FORWARD_PROXY or outcome is Outcome.CHANGED_NO_ESCAPE
    if r.args is not None and (is_final or (run.rules.version22 and run.c.directory)):
        name += f"?{r.args}"
    r.filename = name
    r.proxy, r.handler = r.proxy or REVERSE_PROXY, "proxy-server"
    run.c.log_step(1, f"go-ahead with proxy request {r.filename} [OK]")
    return OK


def _redirect(r: Request, run: RewriteRun, outcome: Outcome, scheme: int) -> HookStatus:
    """Redirect the client; a query of rules is escaped, in 2.2 one of the client as well."""
    c = run.c
    raw = outcome is Outcome.CHANGED_NO_ESCAPE
    name = r.filename or ""
    if not raw:
        c.log_step(1, f"escaping {name} for redirect")
        name = escape_absolute(name, scheme)
    if r.args is not None:
        raw = raw or (r.args == run.args and not run.rules.version22)
        escaped = "" if raw else escape_uri(r.args)
        if not run.rules.version22:
            c.log_step(
                1, f"{'copying' if raw else 'escaping'} {r.args} to query string for redirect {escaped}"
            )
        name += f"?{r.args if raw else escaped}"
    r.filename = name
    status: HookStatus = r.status if 300 <= r.status < 400 else 302
    r.status = 200
    r.headers_out.set("Location", name)
    c.log_step(1, f"redirect to {name} [REDIRECT/{status}]")
    return status


# Directories ------------------------------------------------------------------------------------
def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook of a directory's rules."""
    dir_config = scope.dir_config(RewriteDirConfig)
    if dir_config.directory is None or not dir_config.engine:
        return None
    slashless = (
        None if dir_config.options & RewriteOptions.NO_SLASH else dir_config.directory.removesuffix("/")
    )
    rules = rule_list(scope, dir_config.rules, dir_config.directory)
    if not scope.dir_config(CoreDirConfig).options.value & (OPT_SYM_LINKS | OPT_SYM_OWNER):
        return CompiledHook(_links_are_off(not scope.dialect.rewrite_22, slashless, rules))
    if not dir_config.rules and rules.log is None:
        return None
    proxied = scope.loaded("proxy_module")

    def begin(r: Request) -> RewriteRun | None:
        if (slashless is not None and r.filename == slashless) or _ended(r, rules):
            return None
        run = RewriteRun(rules, r)
        if r.filename is None:
            r.filename = r.uri
            run.c.log_step(2, f"init rewrite engine with requested uri {r.filename}")
        return run

    def finish(r: Request, run: RewriteRun, outcome: Outcome) -> HookStatus:
        _remember_end(r, run)
        if outcome is Outcome.NOTHING:
            run.c.log_step(1, f"pass through {r.filename}")
            r.filename = run.original
            return DECLINED
        return _directory_result(r, run, outcome, dir_config, proxied)

    reads = rules.reads | (
        Reads.UNCACHEABLE if rules.log is not None and scope.dialect.rewrite_22 else Reads.NOTHING
    )
    return _compiled_hook(rules, begin, finish, reads)


def _links_are_off(new: bool, slashless: str | None, rules: RuleList) -> HookFn:
    """Return the hook of a directory without links: it refuses what rules would be run for (mod_rewrite.c,
    hook_fixup)."""
    which = (
        "Options FollowSymLinks and SymLinksIfOwnerMatch are both off, so the RewriteRule directive is also "
        "forbidden "
        if new
        else "Options FollowSymLinks or SymLinksIfOwnerMatch is off which implies that RewriteRule "
        "directive is forbidden"
    )

    def refuse(r: Request) -> HookStatus:
        if (slashless is not None and r.filename == slashless) or _ended(r, rules):
            return DECLINED
        tail = (
            f"due to its similar ability to circumvent directory restrictions : {r.filename}"
            if new
            else f": {r.filename}"
        )
        _log(r, "error", "AH00670", which + tail)
        return 403

    return refuse


def _directory_result(
    r: Request, run: RewriteRun, outcome: Outcome, dir_config: RewriteDirConfig, proxied: bool
) -> HookStatus:
    name = r.filename or ""
    scheme, _ = absolute(name, version22=run.rules.version22)
    status = _refused(r, run, outcome, scheme)
    if status is not None:
        return status
    if name.startswith(PROXY):
        return _to_proxy(r, run, outcome, proxied)
    if scheme:
        if dir_config.base is not None:
            _based(r, run, dir_config, scheme)
        return _redirect(r, run, outcome, scheme)
    name = name.removeprefix(PASS_THROUGH)
    r.filename = name
    if not name.startswith("/"):
        return 400
    if name == run.original:
        run.c.log_step(1, f"initial URL equal rewritten URL: {name} [IGNORING REWRITE]")
        return OK
    _back_to_url(r, run, dir_config)
    if not run.rules.version22:
        r.notes["redirect-keeps-vary"] = ""
    run.c.log_step(1, f"internal redirect with {r.filename} [INTERNAL REDIRECT]")
    r.filename, r.handler = REDIRECT + r.filename, REDIRECT_HANDLER
    return OK


def _based(r: Request, run: RewriteRun, dir_config: RewriteDirConfig, scheme: int) -> None:
    """Replace the directory's path by RewriteBase, if it follows the host of a redirect."""
    name = r.filename or ""
    slash = name.find("/", scheme)
    if slash < 0 or slash + 1 == len(name):
        return
    run.c.log_step(2, f"trying to replace prefix {dir_config.directory} with {dir_config.base}")
    directory = dir_config.directory or ""
    base = dir_config.base or ""
    rest = name[slash + 1 :]
    r.filename = name[: slash + 1] + _replaced(run, rest, directory.removeprefix("/"), base[1:])


def _back_to_url(r: Request, run: RewriteRun, dir_config: RewriteDirConfig) -> None:
    """Make the file a URL: by RewriteBase, else without document root or Alias directory."""
    before = r.filename or ""
    if dir_config.base is not None:
        run.c.log_step(2, f"trying to replace prefix {dir_config.directory} with {dir_config.base}")
        r.filename = _replaced(run, before, dir_config.directory or "", dir_config.base)
    else:
        root = document_root(r).removesuffix("/")
        if before.startswith(root + "/"):
            run.c.log_step(2, f"strip document_root prefix: {before} -> {before[len(root) :]}")
            r.filename = before[len(root) :]
    if (
        r.filename == before
        and not run.rules.version22
        and not dir_config.options & RewriteOptions.IGNORE_CONTEXT
    ):
        prefix, place = context(r)
        run.c.log_step(2, f"trying to replace context docroot {place} with context prefix {prefix}")
        r.filename = _replaced(run, before, place, prefix)


def _replaced(run: RewriteRun, text: str, old: str, new: str) -> str:
    out = replaced_prefix(text, old, new)
    if run.c.log is not None and out is not text:
        rest = text[len(old.removesuffix("/")) + 1 :]
        run.c.log_step(5, f"strip matching prefix: {text} -> {rest}", in_directory=False)
        run.c.log_step(4, f"add subst prefix: {rest} -> {out}", in_directory=False)
    return out


# Types and handlers -----------------------------------------------------------------------------
def make_types(scope: Scope) -> CompiledHook | None:
    """Make the hook of types and handlers that rules have set (T, H)."""
    dir_config = scope.dir_config(RewriteDirConfig)
    server = scope.server_config(RewriteServerConfig)
    log = log_function(scope)

    def force(r: Request) -> HookStatus:
        kind = r.notes.get(TYPE_NOTE)
        handler = r.notes.get(HANDLER_NOTE)
        if kind is not None:
            if log is not None:
                log(r, 1, "", f"force filename {r.filename} to have MIME-type '{kind}'")
            r.content_type = kind
        if handler is not None:
            if log is not None:
                log(r, 1, "", f"force filename {r.filename} to have the Content-handler '{handler}'")
            r.handler = handler
        return OK

    forces = any(rule.forced_type or rule.forced_handler for rule in (*dir_config.rules, *server.rules))
    return CompiledHook(force) if forces else None


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler that performs the internal redirect of a directory's rules."""
    dir_config = scope.dir_config(RewriteDirConfig)
    if dir_config.directory is None or not dir_config.engine:
        return None

    async def go(r: Request) -> HookStatus:
        name = r.filename or ""
        if r.handler != REDIRECT_HANDLER or not name.startswith(REDIRECT):
            return DECLINED
        query = "" if r.args is None else f"?{r.args}"
        await r.engine.internal_redirect(name[len(REDIRECT) :] + query, r)
        return OK

    return CompiledHook(go, is_async=True, handlers=frozenset((REDIRECT_HANDLER,)))
