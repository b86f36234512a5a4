"""From a parsed head to a handler's answer: httpd's ap_process_request_internal and the phases it runs.

Manual: developer/request.html.  Every function gives httpd's answers: OK, DECLINED, DONE or an HTTP status.
"""

from __future__ import annotations

from typing import Any

from whimbrel.config.core import CoreFolder, CoreServer
from whimbrel.config.model import SectionKind
from whimbrel.http.url import NOT_PLAIN, Slashes, decode_path
from whimbrel.registry.phases import (
    ACCESS_CHECKER,
    DECLINED,
    DONE,
    NOTE_AUTH_FAILURE,
    OK,
    Answer,
    Phase,
)
from whimbrel.request.plan import Hooks, Plan, Ready
from whimbrel.request.record import Request
from whimbrel.request.walk import directory_walk, file_walk, walk_location_and_if


async def run_phase(r: Request, phase: Phase) -> Answer:
    """Run the hooks of *phase* that the request's plan has, until one ends it."""
    ready = r.plan.ready(phase)
    return await run(r, ready) if ready.answer is None else ready.answer


async def run(r: Request, ready: Ready, hooks: Hooks | None = None) -> Answer:
    """Run the hooks of a phase that has no answer of its own; *hooks* are those that may have one, where the caller knows."""
    if hooks is None:
        hooks = ready.hooks if r.method_number else ready.usual
    if not ready.pure:
        r.files.outside = True
    if ready.client:
        r.files.client = True
    passes = ready.passes
    for hook, waits in hooks:
        answer: Any = hook(r)
        if waits and answer.__class__ is not int and not isinstance(answer, int):
            answer = await answer
        if passes is not None and answer not in passes:
            found: Answer = answer
            return found
    return DECLINED if passes is not None and OK not in passes else OK


def at_once(r: Request, ready: Ready) -> Answer:
    """`run` for a phase of which no hook waits."""
    if not ready.pure:
        r.files.outside = True
    if ready.client:
        r.files.client = True
    passes = ready.passes
    for hook, _waits in ready.hooks if r.method_number else ready.usual:
        answer: Any = hook(r)
        if passes is not None and answer not in passes:
            found: Answer = answer
            return found
    return DECLINED if passes is not None and OK not in passes else OK


async def process(r: Request) -> Answer:
    """Everything between the head and the handler; OK when the handler may run."""
    if r.main is None or r.filename is None:
        uri = r.uri
        answer = OK if not uri or (uri[0] == "/" and NOT_PLAIN.search(uri) is None) else _decoded(r)
        if answer != OK:
            return answer
        plan = r.plan
        if plan.locations.sections or plan.core.ifs:
            walk_location_and_if(r)
            plan = r.plan
        ready = plan.translate_name
        answer = await run(r, ready) if ready.waits else at_once(r, ready)
        if answer != OK:
            return _config_error(r, answer, "translate")
    if r.plan.layers:
        r.plan = r.engine.world.root(r.server)
    ready = r.plan.map_to_storage
    if ready.answer is not None:
        answer = ready.answer
    else:
        answer = await run(r, ready) if r.method_number or ready.usual else DECLINED
    if answer == DECLINED:
        answer = directory_walk(r)
        if answer == OK and r.plan.core.files:
            file_walk(r)
    if answer not in (OK, DECLINED):
        return answer
    if r.elsewhere != r.uri or r.plan.core.ifs:
        walk_location_and_if(r)
    plan = r.plan
    if r.main is None and plan.header_parser.answer is None:
        answer = await run(r, plan.header_parser)
        if answer not in (OK, DECLINED):
            return answer
        plan = r.plan
    if not plan.admits or r.main is not None or r.prev is not None:
        answer = await (check_access(r) if plan.access is None else plan.access(r))
        if answer != OK:
            if answer == 401:
                await run_phase(r, NOTE_AUTH_FAILURE)
            return answer
        plan = r.plan
    ready = plan.type_checker
    answer = await run(r, ready) if ready.waits else at_once(r, ready)
    if answer != OK:
        return _config_error(r, answer, "find types")
    ready = r.plan.fixups
    if ready.answer is not None:
        return ready.answer
    if ready.idle and r.info is None and r.handler is None and not r.content_encodings and not r.connection.notes:
        return OK
    return await run(r, ready)


def _decoded(r: Request) -> Answer:
    """Normalise and unescape the path of the URL, which is no plain one; 400 and 404 as httpd gives them."""
    server, old = r.server_conf(CoreServer), not r.plan.dialect.merge_slashes
    core = r.conf(CoreFolder)
    slashes = Slashes.OFF if not core.encoded_slashes else Slashes.ON if core.decode_slashes else Slashes.NO_DECODE
    path, status = decode_path(r.uri, slashes, merge=server.merge_slashes, version22=old)
    if status == 400 and not old:
        r.log("error", f"invalid URI path ({r.unparsed_uri})", code="AH10244")
    elif status == 404:
        r.log("info", f"found %2f (encoded '/') in URI path ({r.unparsed_uri}), returning 404", code="AH00026")
    r.uri = path.partition("\0")[0] if old else path  # the C text of 2.2 ends there
    return status


async def check_access(r: Request) -> Answer:
    """Who may enter: host, user and both, as Satisfy says.  A request whose settings are its parent's was checked there."""
    for earlier in (r.prev, r.main):
        if earlier is not None and earlier.plan is r.plan and not (r.plan.dialect.access_in_core and _has_location(r.plan)):
            r.user, r.auth_type = earlier.user, earlier.auth_type
            return OK
    if r.plan.dialect.access_in_core:
        return await _check_access_22(r)
    plan = r.plan
    answer = await run(r, plan.access_checker) if plan.access_checker.answer is None else plan.access_checker.answer
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


async def _check_access_22(r: Request) -> Answer:
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


async def _check_user(r: Request, missing: str = "") -> Answer:
    old = r.plan.dialect.access_in_core
    answer = await run(r, r.plan.check_user_id)
    if answer != OK:
        kind = r.plan.provider("access", "auth_type")
        named = kind is not None and kind(r) is not None
        words = "check user.  Check your authn provider!" if named else "perform authentication. AuthType not set!"
        return _config_error(r, answer, words if old else "check user")
    if r.user is None and not old:
        text = f"No authentication done but request not allowed without authentication for {r.uri}. Authentication not configured?"
        r.log("error", text, code=missing)
        return _config_error(r, 500, "check user")
    answer = await run(r, r.plan.auth_checker)
    if answer != OK:
        return _config_error(r, answer, "check access.  Check your 'Require' directive" if old else "check authorization")
    return OK


def _config_error(r: Request, answer: Answer, what: str) -> Answer:
    """httpd's decl_die: where every module declined what must be decided, the configuration is at fault."""
    if answer != DECLINED:
        return answer
    r.log("crit", f"configuration error:  couldn't {what}: {r.uri}", code="AH00025")
    return 500


async def invoke_handler(r: Request) -> Answer:
    """Run the filters' set-up and the handler; 500 when no handler takes the request."""
    plan = r.plan
    filters = plan.insert_filter
    if filters.answer is None:
        if filters.waits:
            await run(r, filters)
        else:
            at_once(r, filters)
        plan = r.plan
    named, ready = r.handler, plan.handler
    if named is None:
        r.handler, hooks = ready.for_type(r.content_type)
    else:
        hooks = ready.named(named)
    if not ready.pure:
        r.files.outside = True
    if ready.client:
        r.files.client = True
    answer = DECLINED
    for hook, waits in hooks:  # `run`, written out
        said: Any = hook(r)
        answer = await said if waits and said.__class__ is not int and not isinstance(said, int) else said
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
