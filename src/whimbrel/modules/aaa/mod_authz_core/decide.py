"""Trees of Require rules compiled to one function per tree, and the two hooks that call it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from whimbrel.base.numbers import BLANKS
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, merge_levels
from whimbrel.engine.explain.decisions import OTHER_METHODS, Tracer, tracer_of
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.engine.request import Request
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig, Rule, joined
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, auth_type, denied_path, has_no_auth_type
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_WORDS: Final = {
    Authz.DENIED: "denied",
    Authz.GRANTED: "granted",
    Authz.NEUTRAL: "neutral",
    Authz.GENERAL_ERROR: "general error",
    Authz.DENIED_NO_USER: "denied (no authenticated user yet)",
}
_MODULE: Final = "authz_core"


def compile_rule(rule: Rule, scope: Scope, loud: bool, parent: str = "and") -> AuthzCheck:
    """Return *rule* as a check; *loud*: log every step; *parent*: the operator of the container."""
    if rule.provider is not None:
        inner = rule.provider.make(scope, rule.args, rule.parsed)
    else:
        children = rule.children if loud or tracer_of(scope) is not None else rule.runs or joined(rule)
        inner = _container(rule.op, [compile_rule(child, scope, loud, rule.op) for child in children])
    if rule.negate or loud or rule.methods != -1:
        inner = _wrapped(rule, inner, loud, Authz.GRANTED if parent == "and" else Authz.NEUTRAL)
    watch = tracer_of(scope)
    return inner if watch is None else _traced(rule, inner, watch)


def _traced(rule: Rule, check: AuthzCheck, watch: Tracer) -> AuthzCheck:
    """Return the check as a step of the decision tree."""

    def describe(r: Request, result: int) -> tuple[str, str]:
        return _WORDS[result], "" if rule.methods >> r.method_number & 1 else OTHER_METHODS

    parts = tuple((str(child).rstrip(BLANKS), child.place) for child in rule.children)
    return AuthzCheck(
        watch.wrap(check.fn, check.waits, str(rule).rstrip(BLANKS), rule.place, describe, parts),
        check.reads,
        check.waits,
    )


def _wrapped(rule: Rule, inner: AuthzCheck, loud: bool, unconcerned: int) -> AuthzCheck:
    """Return a check for the rule's methods only, negated and logged as the rule requires; *unconcerned* is
    the result for other methods.
    """
    fn: Any = inner.fn

    def concerned(r: Request) -> bool:
        if rule.methods >> r.method_number & 1:
            return True
        if loud:
            r.log(
                "debug",
                f"authorization result of {rule}: {_WORDS[unconcerned]} (directive limited to other methods)",
                code="AH01625",
                module=_MODULE,
            )
        return False

    def finish(r: Request, result: int) -> int:
        if rule.negate:
            result = {
                Authz.GRANTED: Authz.DENIED,
                Authz.DENIED: Authz.NEUTRAL,
                Authz.DENIED_NO_USER: Authz.NEUTRAL,
            }.get(result, result)
        if loud:
            r.log(
                "debug", f"authorization result of {rule}: {_WORDS[result]}", code="AH01626", module=_MODULE
            )
        return result

    async def wait(r: Request) -> int:
        return finish(r, await fn(r)) if concerned(r) else unconcerned

    return AuthzCheck(
        wait if inner.waits else lambda r: finish(r, fn(r)) if concerned(r) else unconcerned,
        inner.reads | Reads.FIELDS,
        inner.waits,
    )


def _container(op: str, checks: list[AuthzCheck]) -> AuthzCheck:
    """Return all or any of *checks*, evaluated in order until the result cannot change."""
    reads = Reads.NOTHING
    for check in checks:
        reads |= check.reads
    join = _all if op == "and" else _any
    final = Authz.DENIED if op == "and" else Authz.GRANTED
    if any(check.waits for check in checks):
        return AuthzCheck(_waiting(checks, join, final), reads, True)
    functions: list[Any] = [check.fn for check in checks]
    if len(functions) == 1:
        return AuthzCheck(functions[0], reads, result=checks[0].result)

    def decide(r: Request) -> int:
        result = Authz.NEUTRAL
        for fn in functions:
            status: int = fn(r)
            if status in (final, Authz.GENERAL_ERROR):
                return status
            result = join(result, status)
        return result

    return AuthzCheck(decide, reads)


def _waiting(
    checks: list[AuthzCheck], join: Callable[[int, int], int], final: int
) -> Callable[[Request], Awaitable[int]]:
    async def decide(r: Request) -> int:
        result = Authz.NEUTRAL
        for check in checks:
            found: Any = check.fn(r)
            if check.waits:
                found = await found
            if found in (final, Authz.GENERAL_ERROR):
                return int(found)
            result = join(result, found)
        return result

    return decide


def _all(result: int, status: int) -> int:
    """Combine a rule's result with those before in RequireAll: DENIED_NO_USER outweighs a grant."""
    if status == Authz.NEUTRAL:
        return result
    return status if status == Authz.DENIED_NO_USER or result == Authz.NEUTRAL else result


def _any(result: int, status: int) -> int:
    """Combine a rule's result with those before in RequireAny: DENIED_NO_USER outweighs DENIED."""
    if status == Authz.NEUTRAL:
        return result
    return (
        status
        if (status == Authz.DENIED_NO_USER and result == Authz.DENIED) or result == Authz.NEUTRAL
        else result
    )


def _is_loud(scope: Scope) -> bool:
    levels = merge_levels(
        scope.server_config(CoreServerConfig).log_level, scope.dir_config(CoreDirConfig).log_level
    )
    return enabled(levels, _MODULE, "debug")


def make_before(scope: Scope) -> CompiledHook:
    """Decide without a user (access_checker_ex); decline if a user could change the decision."""
    return _make(scope, after=False)


def make_after(scope: Scope) -> CompiledHook:
    """Decide with the user (auth_checker)."""
    return _make(scope, after=True)


def _make(scope: Scope, *, after: bool) -> CompiledHook:
    record = scope.dir_config(AuthzCoreDirConfig)
    kind = auth_type(scope)
    loud = _is_loud(scope)
    if record.section is None:
        if has_no_auth_type(scope) and not loud:
            return CompiledHook(lambda r: OK, Reads.NOTHING, constant=OK)
        return CompiledHook(lambda r: _no_directives(r, kind(r), loud), Reads.FIELDS)
    check = compile_rule(record.section, scope, loud)
    if check.result == Authz.GRANTED:
        return CompiledHook(lambda r: OK, check.reads, constant=OK)
    fn: Any = check.fn
    denied = _after(kind, record.forbidden) if after else _before

    async def wait(r: Request) -> HookStatus:
        result = await fn(r)
        return OK if result == Authz.GRANTED else denied(r, result)

    def decide(r: Request) -> HookStatus:
        result = fn(r)
        return OK if result == Authz.GRANTED else denied(r, result)

    return CompiledHook(wait if check.waits else decide, check.reads, check.waits)


def _no_directives(r: Request, kind: str | None, loud: bool) -> HookStatus:
    if kind is not None:
        r.log(
            "error",
            "AuthType configured with no corresponding authorization directives",
            code="AH01627",
            module=_MODULE,
        )
        return 500
    if loud:
        r.log("debug", "authorization result: granted (no directives)", code="AH01628", module=_MODULE)
    return OK


def _forbidden(r: Request) -> HookStatus:
    r.log("error", f"client denied by server configuration: {denied_path(r)}", code="AH01630", module=_MODULE)
    return 403


def _before(r: Request, result: int) -> HookStatus:
    if result == Authz.DENIED_NO_USER:
        return DECLINED
    return 500 if result == Authz.GENERAL_ERROR else _forbidden(r)


def _after(kind: Callable[[Request], str | None], forbidden: bool) -> Callable[[Request, int], HookStatus]:
    def denied(r: Request, result: int) -> HookStatus:
        if result == Authz.GENERAL_ERROR:
            return 500
        if result == Authz.DENIED_NO_USER:
            r.log(
                "error",
                f"authorization failure (no authenticated user): {r.uri}",
                code="AH01629",
                module=_MODULE,
            )
            return 401
        if kind(r) is None:
            return _forbidden(r)
        r.log(
            "error", f'user {r.user}: authorization failure for "{r.uri}": ', code="AH01631", module=_MODULE
        )
        return 403 if forbidden else 401

    return denied
