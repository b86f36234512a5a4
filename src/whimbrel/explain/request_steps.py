"""The steps of one request (or sub-request, or redirect target) from its trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.numbers import lower
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.config.model import SectionKind, Server
from whimbrel.config.origins import Origin
from whimbrel.config.vhosts import matcher
from whimbrel.engine.explain.decisions import DENIED, Decision, RequestTrace
from whimbrel.engine.explain.hook_traces import HookTrace
from whimbrel.engine.plan.plan import Plan
from whimbrel.engine.request import Request
from whimbrel.explain.defaults import options_default, override_default
from whimbrel.explain.reasons import lines_of, rule_origin, settings_of
from whimbrel.explain.requirements_22 import with_unevaluated
from whimbrel.explain.rewriting import REFUSED
from whimbrel.explain.step import ExplanationStep, is_reason
from whimbrel.explain.void_lines import unread_htaccess, void_rules
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig
from whimbrel.modules.mappers.mod_rewrite.trace import ConditionTrace
from whimbrel.modules.support.auth.auth_api import AuthnCoreDirConfig
from whimbrel.registry.phases import DECLINED, DONE, OK
from whimbrel.verify.deciding_lines import satisfy_lines

if TYPE_CHECKING:
    from whimbrel.modules.mappers.mod_rewrite.trace import Step

KINDS: Final = {
    "post_read_request": "request",
    "quick_handler": "handler",
    "pre_translate_name": "mapping",
    "translate_name": "mapping",
    "map_to_storage": "mapping",
    "header_parser": "request",
    "type_checker": "type",
    "fixups": "fix-ups",
    "insert_filter": "filters",
    "insert_error_filter": "filters",
    "handler": "handler",
}
MAPPING: Final = ("request", "mapping")
SHOWN: Final = {
    "uri": "path",
    "untracked_args": "query",
    "filename": "file",
    "path_info": "path info",
    "handler": "handler",
    "content_type": "type",
    "user": "user",
    "document_root": "document root",
    "encodings": "encodings",
    "languages": "languages",
    "filters": "filters",
}
"""Changes that a step shows, with their names in it."""


def virtual_host(r: Request) -> ExplanationStep:
    """Return the step that chose the server of *r*."""
    server = r.server
    main = r.engine.main
    place = r.server.place
    if place is None:  # the main server
        hosts = r.engine.configuration.virtual_hosts
        reason = "no <VirtualHost> is for this address" if hosts else "there is no <VirtualHost>"
        return ExplanationStep(
            "virtual host", "main server", main.name, main.origins_of(Server, "name"), reason
        )
    addresses = " ".join(address.written for address in server.addresses)
    opening = Origin(place, f"<VirtualHost {addresses}>")
    field, reason = _name_of(r, server)
    named = server.origins_of(Server, field) if field else ()
    return ExplanationStep("virtual host", opening.text, server.name, (*named, opening), reason)


def _name_of(r: Request, server: Server) -> tuple[str, str]:
    """Return the field of *server* that has the name of the request, and the reason for the choice."""
    host = lower(r.hostname or "")
    if host and host == lower(server.name):
        return "name", f"ServerName is {host}"
    if host and host in map(lower, server.names):
        return "names", f"ServerAlias has {host}"
    if host and any(matcher(pattern)(host) for pattern in server.wild_names):
        return "wild_names", f"ServerAlias matches {host}"
    if not host and server.path and r.uri.startswith(server.path):
        return "path", f"ServerPath covers {r.uri}"
    return "", f"the first host for {r.connection.local_ip}:{r.connection.local_port}"


def hook_steps(trace: RequestTrace, kinds: Iterable[str]) -> Iterator[ExplanationStep]:
    """Iterate over the steps of the hooks that did something, in phases of *kinds*."""
    wanted = frozenset(kinds)
    for hook in trace.hooks:
        kind = KINDS.get(hook.phase, "")
        if kind in wanted and (hook.rewriting or _acted(hook)):
            # other hooks, and the handler of a redirect, have the rules of the requests that they make
            is_own = hook.module == "mod_rewrite" and kind != "handler"
            steps = _with_target(hook) if is_own else ()
            rules = tuple(_rule(hook, step) for step in steps)
            inner = (*rules, *options_default(hook))
            yield ExplanationStep(kind, hook.module, _result(hook), lines_of(hook), _log(hook), inner)


def _with_target(hook: HookTrace) -> tuple[Step, ...]:
    """Return the rules that *hook* tried. The last one that was applied before a redirect has the URL that is
    sent: a rule of a directory gives the path of a file, and a URL replaces its begin.
    """
    target = hook.changes.get("field Location", ("", None))[1]
    applied = [number for number, step in enumerate(hook.rewriting) if step.applied and step.result]
    if target is None or not applied or hook.status is None or not 300 <= hook.status < 400:
        return hook.rewriting
    last = applied[-1]
    final = replace(hook.rewriting[last], result=target, query="")
    return *hook.rewriting[:last], final, *hook.rewriting[last + 1 :]


def _acted(hook: HookTrace) -> bool:
    if hook.phase in ("translate_name", "handler", "quick_handler", "type_checker"):
        return hook.status != DECLINED or any(name in SHOWN for name in hook.changes)
    return hook.status not in (OK, DECLINED) or bool(_shown(hook))


def _shown(hook: HookTrace) -> list[tuple[str, Any]]:
    return [
        (SHOWN.get(name, name.removeprefix("field ")), new)
        for name, (_old, new) in hook.changes.items()
        if name in SHOWN or name.startswith(("env ", "field ") if hook.module != "core" else "env ")
    ]


def _result(hook: HookTrace) -> str:
    status = hook.status
    if status is None:
        return "not run"  # with the variables of the program, which all programs get
    words = [f"{name} {_text(new)}" for name, new in _shown(hook)]
    if status >= 100:
        words.insert(0, f"status {status}")
    elif status == DONE:
        words.insert(0, "done")
    return ", ".join(words) or ("declined" if status == DECLINED else "ok")


def _text(value: object) -> str:
    if value is None:
        return "removed"
    return " ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def _log(hook: HookTrace) -> str:
    """Return the messages that may be a reason; those of lower levels only follow what happens."""
    is_new = hook.plan.dialect.messages_24
    return "; ".join(line.message(new=is_new) for line in hook.log if is_reason(line.level))


def _condition(condition: ConditionTrace) -> ExplanationStep:
    text = f"RewriteCond {condition.test_string} {condition.pattern}"
    lines = () if condition.place is None else (Origin(condition.place, text),)
    result = "holds" if condition.holds else "fails"
    return ExplanationStep("condition", text, result, lines, f"on {condition.subject!r}")


def _rule(hook: HookTrace, step: Step) -> ExplanationStep:
    """Return the step of one rule of rewriting that was tried."""
    conditions = tuple(map(_condition, step.conditions))
    if not step.matches:
        result = "no match"
    elif not step.applied:
        result = "a condition fails"
    elif step.refused:
        result = f"{REFUSED}{step.refused}"
    else:
        query = f"?{step.query}" if step.query else ""
        result = f"-> {step.result}{query}" if step.result else "applied"
    line = rule_origin(hook, step)
    where = f"on {step.subject!r}" + (f" in {step.directory}" if step.directory else "")
    return ExplanationStep(
        "rule", line.text, result, (line,) if line.place is not None else (), where, conditions
    )


def section_steps(trace: RequestTrace, tried: Set[SourceLocation | None]) -> Iterator[ExplanationStep]:
    """Iterate over the sections and .htaccess files that apply, in the order of merging; *tried*: the places
    of the rules of rewriting that were.
    """
    has_htaccess = False
    plan = trace.plan
    for section in trace.sections:
        is_file = section.kind == SectionKind.HTACCESS.value
        has_htaccess |= is_file
        line = () if section.place is None else (Origin(section.place, "" if is_file else section.written),)
        kind = ".htaccess" if is_file else "sections"
        inner = override_default(trace) if is_file else ()
        yield ExplanationStep(kind, section.written, "applies", line, "", inner)
    if trace.refused is not None and (place := trace.refused.place) is not None:
        name = place.path.rpartition("/")[2]
        line = (Origin(place, ""),)
        inner = override_default(trace)
        yield ExplanationStep(name, place.path, "refused", line, trace.refused.reason, inner)
        return
    is_walked = any(hook.phase in ("header_parser", *LATER) for hook in trace.hooks)
    if is_walked and not has_htaccess and not any(hook.before["proxy"] for hook in trace.hooks[-1:]):
        override = plan.origin(CoreDirConfig, "override")
        names = plan.origin(CoreServerConfig, "access_names")
        reason = "AllowOverride None" if plan.core.override == 0 else "there is none"
        yield ExplanationStep(".htaccess", "no file", "", (*override, *names), reason)
        yield from unread_htaccess(plan, trace.filename)
    yield from void_rules(trace, tried)


def access_steps(trace: RequestTrace) -> Iterator[ExplanationStep]:
    """Iterate over the step of the access phases: the decision, with authentication's settings."""
    if trace.decision is None:
        return
    lines: tuple[Origin, ...] = ()
    if any(hook.phase == "check_user_id" and hook.status != DECLINED for hook in trace.hooks):
        plan: Plan = trace.plan
        for record, field in (
            (AuthnCoreDirConfig, "auth_type"),
            (AuthnCoreDirConfig, "auth_name"),
            (CoreDirConfig, "auth_type"),
            (CoreDirConfig, "auth_name"),
        ):
            lines += plan.origin(record, field)
    step = _decision(trace.decision, [hook for hook in trace.hooks if hook.phase in ACCESS])
    satisfy = tuple(satisfy_lines(trace))
    lines += satisfy
    users = [hook.changes["user"][1] for hook in trace.hooks if hook.changes.get("user", ("", ""))[1]]
    detail = ", ".join((step.detail, *(f"user {user}" for user in users[:1]))).strip(", ")
    children = with_unevaluated(trace, step.children)
    if satisfy and trace.status == OK and not any(hook.phase == "check_user_id" for hook in trace.hooks):
        children += tuple(_void_requirements(trace))
    yield ExplanationStep("access", step.what, step.result, lines, detail, children)


def _void_requirements(trace: RequestTrace) -> Iterator[ExplanationStep]:
    """Iterate over the step of the Require lines that Satisfy any leaves unread, as the address is enough."""
    plan: Plan = trace.plan
    lines = plan.origin(AuthzCoreDirConfig, "section") or plan.origin(CoreDirConfig, "requires")
    if lines and trace.decision is not None and "Satisfy any" in trace.decision.detail:
        yield ExplanationStep(
            "access", "Require", "void", lines, "Satisfy any: the address of the client is enough"
        )


def _decision(decision: Decision, hooks: list[HookTrace]) -> ExplanationStep:
    """Return the step of a decision; one without place has the settings of its module or provider."""
    place = decision.place
    what = decision.what
    lines: tuple[Origin, ...] = () if place is None else (Origin(place, what),)
    module, _, phase = what.partition(" ")
    hook = next((hook for hook in hooks if f"{hook.module} ({hook.phase})" == what), None)
    is_single = phase in ("(access_checker)", "(access_checker_ex)") and not decision.children
    is_single &= decision.verdict == DENIED
    if hook is not None and (phase == "(check_user_id)" or is_single):
        lines = lines_of(hook)
    elif module == "provider" and hooks:
        lines += settings_of(hooks[-1], f"mod_authn_{phase}") or settings_of(hooks[-1], f"mod_authnz_{phase}")
    children = tuple(_decision(child, hooks) for child in decision.children)
    return ExplanationStep("access", decision.what, decision.verdict, lines, decision.detail, children)


def file_step(hooks: Iterable[HookTrace], plan: Plan) -> Iterator[ExplanationStep]:
    """Iterate over the step of the file that the request was mapped to, as it was after the walks."""
    state = next((hook.before for hook in hooks if hook.phase in ("header_parser", *LATER)), None)
    if state is None or not state["filename"] or state["proxy"]:
        return
    kind = state["kind"]
    detail = f"path info {state['path_info']}" if state["path_info"] else ""
    yield ExplanationStep("file", state["filename"], kind or "does not exist", (), detail)


ACCESS: Final = ("access_checker", "access_checker_ex", "check_user_id", "auth_checker")
LATER: Final = ("access_checker", "access_checker_ex", "type_checker", "fixups", "insert_filter", "handler")
"""Phases that follow the walks."""
