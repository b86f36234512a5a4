"""From a parsed head to a handler's answer: httpd's ap_process_request_internal and the phases it runs.

Manual: developer/request.html.  Every function gives httpd's answers: OK, DECLINED, DONE or an HTTP status.
"""

from __future__ import annotations

from typing import Any

from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.model import SectionKind
from whimbrel.engine.plan.plan import CompiledPhase, Hooks, Plan
from whimbrel.engine.request import Request
from whimbrel.engine.walk.directory import directory_walk, file_walk, walk_location_and_if
from whimbrel.http.syntax.url import NOT_PLAIN, Slashes, decode_path
from whimbrel.registry.phases import (
    ACCESS_CHECKER,
    DECLINED,
    DONE,
    NOTE_AUTH_FAILURE,
    OK,
    HookStatus,
    Phase,
)


async def run_phase(r: Request, phase: Phase) -> HookStatus:
    """Run the hooks of *phase* that the request's plan has, until one ends it."""
    ready = r.plan.phase(phase)
    return await run(r, ready) if ready.constant is None else ready.constant


async def run(r: Request, ready: CompiledPhase, hooks: Hooks | None = None) -> HookStatus:
    """Run the hooks of a phase that has no answer of its own; *hooks* are those that may have one, where the caller knows."""
    if hooks is None:
        hooks = ready.hooks if r.method_number else ready.get_hooks
    if not ready.is_cacheable:
        r.deps.is_uncacheable = True
    if ready.client:
        r.deps.on_client = True
    passes = ready.continue_on
    for hook, waits in hooks:
        answer: Any = hook(r)
        if waits and answer.__class__ is not int and not isinstance(answer, int):
            answer = await answer
        if passes is not None and answer not in passes:
            found: HookStatus = answer
            return found
    return DECLINED if passes is not None and OK not in passes else OK


def run_sync(r: Request, ready: CompiledPhase) -> HookStatus:
    """`run` for a phase of which no hook waits."""
    if not ready.is_cacheable:
        r.deps.is_uncacheable = True
    if ready.client:
        r.deps.on_client = True
    passes = ready.continue_on
    for hook, _waits in ready.hooks if r.method_number else ready.get_hooks:
        answer: Any = hook(r)
        if passes is not None and answer not in passes:
            found: HookStatus = answer
            return found
    return DECLINED if passes is not None and OK not in passes else OK


async def process(r: Request) -> HookStatus:
    """Everything between the head and the handler; OK when the handler may run."""
    if r.main is None or r.filename is None:
        uri = r.uri
        answer = OK if not uri or (uri[0] == "/" and NOT_PLAIN.search(uri) is None) else _decode(r)
        if answer != OK:
            return answer
        plan = r.plan
        if plan.locations.sections or plan.core.ifs:
            walk_location_and_if(r)
            plan = r.plan
        phase = plan.translate_name
        answer = await run(r, phase) if phase.is_async else run_sync(r, phase)
        if answer != OK:
            return _config_error(r, answer, "translate")
    if r.plan.layers:
        r.plan = r.engine.plans.root(r.server)
    phase = r.plan.map_to_storage
    if phase.constant is not None:
        answer = phase.constant
    else:
        answer = await run(r, phase) if r.method_number or phase.get_hooks else DECLINED
    if answer == DECLINED:
        answer = directory_walk(r)
        if answer == OK and r.plan.core.files:
            file_walk(r)
    if answer not in (OK, DECLINED):
        return answer
    if r.location_walk_uri != r.uri or r.plan.core.ifs:
        walk_location_and_if(r)
    plan = r.plan
    if r.main is None and plan.header_parser.constant is None:
        answer = await run(r, plan.header_parser)
        if answer not in (OK, DECLINED):
            return answer
        plan = r.plan
    if not plan.is_always_granted or r.main is not None or r.prev is not None:
        answer = await (check_access(r) if plan.access is None else plan.access(r))
        if answer != OK:
            if answer == 401:
                await run_phase(r, NOTE_AUTH_FAILURE)
            return answer
        plan = r.plan
    phase = plan.type_checker
    answer = await run(r, phase) if phase.is_async else run_sync(r, phase)
    if answer != OK:
        return _config_error(r, answer, "find types")
    phase = r.plan.fixups
    if phase.constant is not None:
        return phase.constant
    if (
        phase.needs_file
        and r.finfo is None
        and r.handler is None
        and not r.content_encodings
        and not r.connection.notes
    ):
        return OK
    return await run(r, phase)


def _decode(r: Request) -> HookStatus:
    """Normalise and unescape the path of the URL, which is no plain one; 400 and 404 as httpd gives them."""
    server, old = r.server_conf(CoreServerConfig), not r.plan.dialect.merge_slashes
    core = r.dir_config(CoreDirConfig)
    slashes = (
        Slashes.OFF if not core.encoded_slashes else Slashes.ON if core.decode_slashes else Slashes.NO_DECODE
    )
    path, status = decode_path(r.uri, slashes, merge=server.merge_slashes, version22=old)
    if status == 400 and not old:
        r.log("error", f"invalid URI path ({r.unparsed_uri})", code="AH10244")
    elif status == 404:
        r.log(
            "info", f"found %2f (encoded '/') in URI path ({r.unparsed_uri}), returning 404", code="AH00026"
        )
    r.uri = path.partition("\0")[0] if old else path  # the C text of 2.2 ends there
    return status


async def check_access(r: Request) -> HookStatus:
    """Who may enter: host, user and both, as Satisfy says.  A request whose settings are its parent's was checked there."""
    for earlier in (r.prev, r.main):
        if (
            earlier is not None
            and earlier.plan is r.plan
            and not (r.plan.dialect.access_in_core and _has_location(r.plan))
        ):
            r.user, r.auth_type = earlier.user, earlier.auth_type
            return OK
    if r.plan.dialect.access_in_core:
        return await _check_access_22(r)
    plan = r.plan
    answer = (
        await run(r, plan.access_checker)
        if plan.access_checker.constant is None
        else plan.access_checker.constant
    )
    either = plan.satisfies is not None and plan.satisfies(r) == "any"
    if either:
        if answer == OK:
            return OK
    elif answer != OK:
        return _config_error(r, answer, "check access")
    answer = await run(r, r.plan.access_checker_ex)
    if answer == DECLINED:
        return await _check_user(r, "AH00028" if either else "AH00027")
    return OK if answer == OK else _config_error(r, answer, "check access")


def _has_location(plan: Plan) -> bool:
    """Whether a <Location> took part: 2.2 merges those anew for every request, so that a sub-request's settings are never its parent's."""
    return any(layer.kind in (SectionKind.LOCATION, SectionKind.LOCATION_MATCH) for layer in plan.layers)


async def _check_access_22(r: Request) -> HookStatus:
    required = r.plan.provider("access", "auth_required")
    answer = await run_phase(r, ACCESS_CHECKER)
    satisfies = r.plan.provider("access", "satisfies")
    if satisfies is not None and satisfies(r) == "any":
        if answer == OK:
            return OK
        if required is None or not required(r):
            return _config_error(r, answer, "check access")
    else:
        if answer != OK:
            return _config_error(r, answer, "check access")
        if required is None or not required(r):
            return OK
    return await _check_user(r)


async def _check_user(r: Request, missing: str = "") -> HookStatus:
    old = r.plan.dialect.access_in_core
    answer = await run(r, r.plan.check_user_id)
    if answer != OK:
        kind = r.plan.provider("access", "auth_type")
        named = kind is not None and kind(r) is not None
        words = (
            "check user.  Check your authn provider!"
            if named
            else "perform authentication. AuthType not set!"
        )
        return _config_error(r, answer, words if old else "check user")
    if r.user is None and not old:
        text = f"No authentication done but request not allowed without authentication for {r.uri}. Authentication not configured?"
        r.log("error", text, code=missing)
        return _config_error(r, 500, "check user")
    answer = await run(r, r.plan.auth_checker)
    if answer != OK:
        return _config_error(
            r, answer, "check access.  Check your 'Require' directive" if old else "check authorization"
        )
    return OK


def _config_error(r: Request, answer: HookStatus, what: str) -> HookStatus:
    """httpd's decl_die: where every module declined what must be decided, the configuration is at fault."""
    if answer != DECLINED:
        return answer
    r.log("crit", f"configuration error:  couldn't {what}: {r.uri}", code="AH00025")
    return 500


async def invoke_handler(r: Request) -> HookStatus:
    """Run the filters' set-up and the handler; 500 when no handler takes the request."""
    plan = r.plan
    filters = plan.insert_filter
    if filters.constant is None:
        if filters.is_async:
            await run(r, filters)
        else:
            run_sync(r, filters)
        plan = r.plan
    named, phase = r.handler, plan.handler
    if named is None:
        r.handler, hooks = phase.for_type(r.content_type)
    else:
        hooks = phase.named(named)
    if not phase.is_cacheable:
        r.deps.is_uncacheable = True
    if phase.client:
        r.deps.on_client = True
    answer = DECLINED
    for hook, waits in hooks:  # `run`, written out
        returned: Any = hook(r)
        answer = (
            await returned
            if waits and returned.__class__ is not int and not isinstance(returned, int)
            else returned
        )
        if answer != DECLINED:
            break
    if answer == DECLINED and named is not None and r.filename is not None:
        r.log("warn", f'handler "{named}" not found for: {r.filename}', code="AH01577")
    r.handler = named
    if answer == DECLINED:
        return 500
    if answer not in (OK, DONE) and not 100 <= answer < 600:
        r.log("error", f"invalid answer {answer} of a handler", code="AH00024")
        return 500
    return answer
