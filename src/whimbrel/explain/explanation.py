"""Explaining a probe: the engine's trace as a tree of steps."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.printable import HIDDEN
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.origins import Origin
from whimbrel.engine.explain.decisions import GRANTED, RequestTrace
from whimbrel.engine.explain.explainer import Explained
from whimbrel.engine.output.media_type import content_type
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.engine.response import Response
from whimbrel.explain.circles import circle_of
from whimbrel.explain.reasons import lines_of
from whimbrel.explain.refusals import refusal_of
from whimbrel.explain.request_steps import (
    MAPPING,
    access_steps,
    file_step,
    hook_steps,
    section_steps,
    virtual_host,
)
from whimbrel.explain.step import CONTENT_TYPE, REASON, ExplanationStep, RequestExplanation
from whimbrel.http.semantics.status import reason
from whimbrel.modules.metadata.mod_headers.lines import HeadersDirConfig
from whimbrel.verify.answering import without_addresses
from whimbrel.verify.deciding_lines import explain
from whimbrel.verify.digest_user import authorization, by_digest, wants_digest
from whimbrel.verify.probe import secrets_of

ASSUMED_PASSWORD: Final = "password assumed right"
"""The detail of a provider that accepts a user of whom the request names no password."""
_TYPES: Final = ("addtype", "forcetype", "typesconfig", "rewriterule", "mimemagicfile")
"""Beginnings of lines that give files their type."""

if TYPE_CHECKING:
    from whimbrel.verify.probe import Probe
    from whimbrel.verify.side import Side


def explain_probe(side: Side, probe: Probe) -> RequestExplanation:
    """Return the explanation of the answer to *probe*; one that does not load gives errors."""

    def explained(followed: Probe) -> RequestExplanation:
        return _explained(side, followed)

    explanation = explained(probe)
    explanation = replace(explanation, circle=circle_of(probe, explanation, explained))
    secrets = secrets_of(probe)
    return explanation.without(secrets, HIDDEN) if secrets is not None else explanation


def _explained(side: Side, probe: Probe) -> RequestExplanation:
    if not side.is_loaded:
        return RequestExplanation(
            str(probe), side.dialect.name, errors=tuple(error.text for error in side.errors)
        )
    if probe.user is not None and probe.user.scheme != "basic":
        probe = _with_digest(side, probe)
    explained = explain(side, probe, is_dry=True)
    if explained is not None and _sends_basic(probe) and _wants_digest(explained):
        explained = explain(side, _with_digest(side, probe), is_dry=True)
    if explained is None:
        return RequestExplanation(
            str(probe), side.dialect.name, 400, steps=(ExplanationStep("request", "not a request"),)
        )
    explanation = explanation_of(explained, str(probe), side.dialect.name)
    copies = side.options.copies
    steps = tuple(step.with_files(copies) for step in explanation.steps) if copies else explanation.steps
    if probe.user is not None and probe.user.is_password_valid:
        steps = tuple(map(_with_assumed_password, steps))
    roots = side.loaded.root, side.options.server_root
    places = side.options.copied if side.options.is_copy else ()
    return replace(explanation, steps=steps, roots=roots, places=places, copies=copies)


def _with_assumed_password(step: ExplanationStep) -> ExplanationStep:
    """Return *step* with the note that a provider accepted a password which nothing has shown."""
    is_accepted = step.what.startswith("provider ") and step.result == GRANTED and not step.detail
    children = tuple(map(_with_assumed_password, step.children))
    return replace(step, children=children, detail=ASSUMED_PASSWORD if is_accepted else step.detail)


def _wants_digest(explained: Explained) -> bool:
    """Return True if the credentials of Basic were refused because the place asks for those of Digest."""
    final = explained.final
    fields = (*final.headers_out, *final.err_headers_out)
    return wants_digest([value for name, value in fields if name.lower() == "www-authenticate"])


def _sends_basic(probe: Probe) -> bool:
    """Return True for a user whose password is sent as it is, until the server asks for another scheme."""
    return probe.user is not None and probe.user.scheme == "basic"


def _with_digest(side: Side, probe: Probe) -> Probe:
    """Return *probe* with the answer of its user to the challenge of Digest, as a browser gives it; a client
    of RFC 2069 gives that of such a client."""
    with_digest = by_digest(probe) if _sends_basic(probe) else probe
    challenged = side.answer(replace(with_digest, user=None))
    return replace(
        with_digest, fields=(*probe.fields, ("Authorization", authorization(with_digest, challenged)))
    )


def explanation_of(explained: Explained, request: str, dialect: str) -> RequestExplanation:
    """Return the steps of a traced response."""
    final = explained.final
    first = final
    while first.prev is not None or first.main is not None:
        first = first.prev or first.main or first
    steps = [_request(explained), virtual_host(first)]
    tried: set[SourceLocation | None] = set()
    for trace in explained.requests:
        rules = {rule.place for hook in trace.hooks for rule in hook.rewriting}
        tried |= rules if trace.kind != "sub-request" else set()
        inner = tuple(_steps(trace, tried | rules))
        if trace.kind == "request":
            steps += inner
        else:
            what = f"{trace.method} {_target_of(trace)}"
            steps.append(ExplanationStep(trace.kind, what, trace.filename, (), "", inner))
    status = None if explained.answer is None else _sent_status(explained.answer)
    location = final.headers_out.get("Location") or final.err_headers_out.get("Location") or ""
    steps.append(_response(explained, final, status, location))
    return RequestExplanation(request, dialect, status, location, tuple(steps))


def _target_of(trace: RequestTrace) -> str:
    """Return the path that a request begins with, before a rule gives it another one, and for a redirected
    request the query.
    """
    if not trace.hooks:
        return trace.uri
    before = trace.hooks[0].before
    query = before["untracked_args"] if trace.kind == "redirect" else ""
    return f"{before['uri']}?{query}" if query else before["uri"]


def _sent_status(response: Response) -> int:
    """Return the status of the head that is sent; that of the request where there is no head (HTTP/0.9)."""
    words = response.head(b"").split(b" ", 2)
    is_head = len(words) > 1 and words[0].startswith(b"HTTP/") and words[1].isdigit()
    return int(words[1]) if is_head else response.request.status


def _request(explained: Explained) -> ExplanationStep:
    first = explained.final
    while first.prev is not None or first.main is not None:
        first = first.prev or first.main or first
    connection = first.connection
    return ExplanationStep(
        "request",
        first.untracked_line or "",
        "",
        (),
        f"from {connection.client_ip} to {connection.local_ip}:{connection.local_port}",
    )


def _steps(trace: RequestTrace, tried: Set[SourceLocation | None]) -> list[ExplanationStep]:
    return [
        *hook_steps(trace, MAPPING),
        *file_step(trace.hooks, trace.plan),
        *section_steps(trace, tried),
        *access_steps(trace),
        *hook_steps(trace, ("type",)),
        *hook_steps(trace, ("fix-ups",)),
        *hook_steps(trace, ("filters",)),
        *hook_steps(trace, ("handler",)),
    ]


def _response(explained: Explained, r: Request, status: int | None, location: str) -> ExplanationStep:
    if status is None:
        what = explained.what_not_run or "a program or contact a back end"
        text = f"{explained.not_run} would run {what}, which explain does not do"
        return ExplanationStep("response", r.filename or r.uri, "not known", (), text)
    plan: Plan = r.plan
    is_new = plan.dialect.messages_24
    logged = ((without_addresses(line.message(new=is_new)), line.level) for line in explained.log)
    children = [ExplanationStep("log", text, detail=level) for text, level in logged]
    refusal = refusal_of(explained, status) if status >= 400 else None
    if refusal is not None:
        children.append(ExplanationStep(REASON, refusal.sentence, lines=refusal.lines))
    fields: dict[str, set[str]] = {}
    for name, value in (*r.headers_out, *r.err_headers_out, (CONTENT_TYPE, content_type(r) or "")):
        fields.setdefault(name.lower(), set()).update((value, value.partition(";")[0]))
    children += [
        ExplanationStep("header", line.text, "", (line,))
        for line in header_lines(plan, fields, is_error=status >= 400)
    ]
    children += [_type_step(explained, r, plan)] if status < 300 and content_type(r) else []
    lines: tuple[Origin, ...] = ()
    if status >= 400 or r.prev is not None:
        original = r
        while original.prev is not None:
            original = original.prev
        lines = original.plan.origin(CoreDirConfig, "error_documents", status)[-1:]
    elif location:
        lines = _error_redirect(explained, plan)
    if not location and status == 301:
        lines += plan.origin(CoreServerConfig, "use_canonical_name")[-1:]
    result = " ".join(filter(None, (str(status), reason(status), f"to {location}" if location else "")))
    kind = content_type(r) if status < 300 else None
    detail = f"type {kind}" if kind else ""
    return ExplanationStep("response", f"{r.method} {r.uri}", result, lines, detail, tuple(children))


def _type_step(explained: Explained, r: Request, plan: Plan) -> ExplanationStep:
    """Return the step of the Content-Type field, with the lines that gave the response its type."""
    lines: tuple[Origin, ...] = ()
    detail = ""
    if r.content_type is None:
        lines = plan.origin(CoreDirConfig, "default_type")[-1:]
        detail = "" if lines else "the default of 2.2, as no DefaultType applies"
    else:
        setting = [
            hook
            for trace in explained.requests
            for hook in trace.hooks
            if hook.changes.get("content_type", ("", ""))[1] == r.content_type
        ]
        lines = tuple(filter(_sets_type, lines_of(setting[-1]))) if setting else ()
    return ExplanationStep("header", CONTENT_TYPE, content_type(r) or "", lines[:1], detail)


def _error_redirect(explained: Explained, plan: Plan) -> tuple[Origin, ...]:
    """Return the ErrorDocument line that sends a client elsewhere in the place of an error."""
    statuses = [
        status
        for trace in explained.requests
        for status in (trace.status, *(hook.status for hook in trace.hooks))
        if status is not None and status >= 400
    ]
    return plan.origin(CoreDirConfig, "error_documents", statuses[-1])[-1:] if statuses else ()


def _sets_type(line: Origin) -> bool:
    """Return True for a line that gives files their type; others chose the handler that did."""
    return line.text.lower().startswith(_TYPES)


def header_lines(plan: Plan, fields: Mapping[str, Set[str]], *, is_error: bool) -> list[Origin]:
    """Return the Header lines about the *fields* of the response, by their names in lower case.

    A line that sets a constant value has done nothing where the field has another one.
    """
    found: list[Origin] = []
    config = plan.dir_config(HeadersDirConfig)
    for field in ("always",) if is_error else ("always", "success"):
        for line in getattr(config, field):
            values = fields.get(line.header.lower(), frozenset())
            constant = "".join(item for item in line.value if isinstance(item, str))
            is_constant = line.action == "set" and all(isinstance(item, str) for item in line.value)
            if values and not (is_constant and constant not in values):
                found += plan.origin(HeadersDirConfig, field, line)
    return list(dict.fromkeys(found))
