"""Process a request up to its handler: ap_process_request_internal.

Manual: developer/request.html.  Every function returns OK, DECLINED, DONE or an HTTP status, as httpd does.
"""

from __future__ import annotations

from typing import Final

from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine.input.body import body_limit
from whimbrel.engine.pipeline.access import check_access
from whimbrel.engine.pipeline.hooks import config_error, run_phase
from whimbrel.engine.request import Request
from whimbrel.engine.walk.directory import directory_walk
from whimbrel.engine.walk.files import file_walk
from whimbrel.engine.walk.location import walk_location_and_if
from whimbrel.http.syntax.url import NOT_PLAIN, Slashes, decode_path, normalize
from whimbrel.registry.phases import (
    DECLINED,
    DONE,
    NOTE_AUTH_FAILURE,
    OK,
    HookStatus,
)

CHALLENGED: Final = "challenged"  # note: the hook that refused the credentials has set the challenge


async def process(r: Request) -> HookStatus:
    """Everything between the head and the handler; OK when the handler may run."""
    if r.main is None or r.filename is None:
        if r.proxy and (status := _check_forwarded(r)) != OK:
            return status
        if r.engine.plans.has_pre_translate and r.plan.pre_translate_name.compiled().constant is None:
            status = await _pre_translate(r)
            if status not in (OK, DECLINED, DONE):
                return status
        uri = r.uri
        is_plain = not uri or r.proxy or (uri[0] == "/" and NOT_PLAIN.search(uri) is None)
        if not is_plain and (status := _decode(r)) != OK:
            return status
        plan = r.plan
        if plan.locations.sections or plan.core.ifs:
            walk_location_and_if(r)
            if r.plan.core.ifs:  # httpd walks before the hooks of pre_translate_name, too
                r.plan = plan
                walk_location_and_if(r)
            plan = r.plan
        outcome = plan.translate_name.run(r)
        status = outcome if type(outcome) is int else await outcome
        if status != OK:
            return config_error(r, status, "translate")
    if r.plan.layers:
        r.plan = r.engine.plans.root(r.server)
    outcome = r.plan.map_to_storage.run(r)
    status = outcome if type(outcome) is int else await outcome
    if status == DECLINED:
        status = directory_walk(r)
        if status == OK and r.plan.core.files:
            file_walk(r)
    if status not in (OK, DECLINED):
        return status
    if r.location_walk_uri != r.uri or r.plan.core.ifs:
        walk_location_and_if(r)
    plan = r.plan
    if r.main is None:
        if r.body_in.length != 0 and not r.body_in.count and r.body_in.failure is None:
            r.body_in.limit = body_limit(r)
        outcome = plan.header_parser.run(r)
        status = outcome if type(outcome) is int else await outcome
        if status not in (OK, DECLINED):
            return status
        plan = r.plan
    if not (plan.is_always_granted or plan.always_grants()) or r.main is not None or r.prev is not None:
        status = await (check_access(r) if plan.access is None else plan.access(r))
        if status != OK:
            if status == 401 and CHALLENGED not in r.notes:
                await run_phase(r, NOTE_AUTH_FAILURE)
            return status
        plan = r.plan
    outcome = plan.type_checker.run(r)
    status = outcome if type(outcome) is int else await outcome
    if status != OK:
        return config_error(r, status, "find types")
    outcome = r.plan.fixups.run(r)
    status = outcome if type(outcome) is int else await outcome
    if status != OK and r.plan.is_traced:
        r.log("trace3", f"fixups hook gave {status}: {r.uri}")
    return status


async def _pre_translate(r: Request) -> HookStatus:
    """Run the hooks that see the path in normal form, but with its escapes, under the settings for it.

    Unless one of them ends the translation (DONE) or replaces the path, the path as sent is decoded next.
    """
    plan = r.plan
    sent = r.uri
    normal, is_good = normalize(sent, merge=plan.server_core.merge_slashes, decode_unreserved=True)
    if not is_good and not r.proxy:
        return DECLINED
    r.uri = sent if r.proxy else normal
    if plan.locations.sections or plan.core.ifs:
        walk_location_and_if(r)
    outcome = r.plan.pre_translate_name.run(r)
    status: HookStatus = outcome if type(outcome) is int else await outcome
    r.plan = plan
    r.location_walk_uri = None
    if status != DONE and r.uri is normal:
        r.uri = sent
    return status


def _check_forwarded(r: Request) -> HookStatus:
    """Return 400 if the path of an absolute target has no normal form, else OK; it is sent on as it came."""
    url = None if r.head is None else r.head.url
    if url is None or not url.path or not r.plan.dialect.merge_slashes:
        return OK
    _, is_good = normalize(url.path, merge=r.plan.server_core.merge_slashes, decode_unreserved=True)
    if is_good:
        return OK
    r.log("error", f"invalid URI path ({r.unparsed_uri})", code="AH10244")
    return 400


def _decode(r: Request) -> HookStatus:
    """Normalize and unescape a path with escapes, dots or ``//``; return OK, 400 or 404."""
    server = r.server_conf(CoreServerConfig)
    old = not r.plan.dialect.merge_slashes
    core = r.dir_config(CoreDirConfig)
    # merge_core_dir_configs does not pass AllowEncodedSlashes on to virtual hosts
    if not core.encoded_slashes or core.slashes_of_host != r.server.is_virtual:
        slashes = Slashes.OFF
    elif core.decode_slashes:
        slashes = Slashes.ON
    else:
        slashes = Slashes.NO_DECODE
    path, status = decode_path(r.uri, slashes, merge=server.merge_slashes, version22=old)
    if status == 400 and not old:
        r.log("error", f"invalid URI path ({r.unparsed_uri})", code="AH10244")
    elif status == 404:
        r.log(
            "info", f"found %2f (encoded '/') in URI path ({r.unparsed_uri}), returning 404", code="AH00026"
        )
    r.uri = path.partition("\0")[0]  # httpd's C text ends there
    return status
