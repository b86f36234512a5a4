"""The handler phase: ap_invoke_handler."""

from __future__ import annotations

from typing import Any

from whimbrel.engine.input.filter import run_input_filters
from whimbrel.engine.pipeline.hooks import run, run_sync
from whimbrel.engine.request import Request
from whimbrel.registry.phases import (
    DECLINED,
    DONE,
    OK,
    HookStatus,
)


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
    for each in r.output_filters:
        each.insert(r)
    if r.input_filters:
        run_input_filters(r)
    named, phase = r.handler, plan.handler
    if named is None:
        r.handler, hooks = phase.for_type(r.content_type)
    else:
        hooks = phase.named(named)
    if not phase.is_cacheable:
        r.deps.is_uncacheable = True
    if phase.client:
        r.deps.on_client = True
    status = DECLINED
    for hook, waits in hooks:  # `run`, written out
        returned: Any = hook(r)
        status = (
            await returned
            if waits and returned.__class__ is not int and not isinstance(returned, int)
            else returned
        )
        if status != DECLINED:
            break
    if status == DECLINED and named is not None and r.filename is not None:
        r.log("warn", f'handler "{named}" not found for: {r.filename}', code="AH01577")
    r.handler = named
    if status == DECLINED:
        return 500
    if status not in (OK, DONE) and not 100 <= status < 600:
        r.log("error", f"invalid answer {status} of a handler", code="AH00024")
        return 500
    return status
