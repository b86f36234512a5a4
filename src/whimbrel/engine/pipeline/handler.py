"""The handler phase: ap_invoke_handler."""

from __future__ import annotations

from whimbrel.engine.input.filter import run_input_filters
from whimbrel.engine.request import Request
from whimbrel.registry.phases import (
    DECLINED,
    DONE,
    OK,
    HookStatus,
)


async def invoke_handler(r: Request) -> HookStatus:
    """Run the filters' set-up and the handler; 500 when no handler takes the request."""
    outcome = r.plan.insert_filter.run(r)
    if type(outcome) is not int:
        await outcome
    for each in r.output_filters:
        each.insert(r)
    if r.input_filters:
        run_input_filters(r)
    named = r.handler
    phase = r.plan.handler
    if named is None:
        kind = r.content_type
        r.handler, phase = phase.for_type(None if kind == r.untrusted_type else kind)
    else:
        phase = phase.named(named)
    r.handled_by = phase
    try:
        outcome = phase.run(r)
        status = outcome if type(outcome) is int else await outcome
    finally:
        r.handler = named  # also of a request whose body cannot be read
    if status == DECLINED and named is not None and r.filename is not None:
        r.log("warn", f'handler "{named}" not found for: {r.filename}', code="AH00523")
    if status == DECLINED:
        return 500
    if status not in (OK, DONE) and not 100 <= status < 600:
        text = f"Handler for {named or r.content_type} returned invalid result code {status}"
        r.log("error", text, code="AH00524")
        return 500
    return status
