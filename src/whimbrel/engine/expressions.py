"""Expressions of a configuration: compiled for a directive, evaluated for a request.

`read_condition` and `read_string` raise ConfigError with the directive's message.  `evaluate` and
`StringExpression.text` log an EvalError and raise it; the caller decides about the request.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from whimbrel.base.errors import ConfigError
from whimbrel.base.product import SOFTWARE
from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final, TypeVar
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.directives.command import Command
from whimbrel.engine import identity
from whimbrel.engine.connection import REMOTE_IDENT_NOTE
from whimbrel.engine.coroutines import Suspended, run_until_suspended
from whimbrel.expr.api import CompiledCondition, StringExpr, compile_condition, compile_string
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.expr.evaluation import EMPTY_MATCH, Evaluation
from whimbrel.expr.library import CLIENT, TIME, UNCACHEABLE
from whimbrel.registry.module import Reads

if TYPE_CHECKING:
    from whimbrel.base.regex import Match
    from whimbrel.engine.request import Request

T = TypeVar("T")

REMOTE_HOST_NOTE: Final = (
    "remote-host"  # note of the connection with the client's host name, once it is known
)


class RequestView:
    """A request as expressions see it (whimbrel.expr.view.View)."""

    __slots__ = ("module", "request")

    def __init__(self, request: Request, module: str = "core") -> None:
        self.request: Any = request
        self.module = module

    def client(self) -> str:
        """Return the client's address, which the response then depends on."""
        r = self.request
        r.deps.on_client = True
        address: str = r.connection.useragent_ip or r.connection.client_ip
        return address

    def set_uncacheable(self) -> None:
        self.request.set_uncacheable()

    def now(self) -> float:
        self.request.set_uncacheable()
        now: float = self.request.engine.runtime.now()
        return now

    def remote_host(self) -> str:
        """Return the client's host name if this connection has looked it up, else its address."""
        r = self.request
        name: str | None = r.connection.notes.get(REMOTE_HOST_NOTE)
        if name:
            r.set_uncacheable()  # another connection of the same client may have no name yet
        return name or self.client()

    def remote_ident(self) -> str:
        """Return the user's name if this connection has looked it up; mod_ident then forbids caching."""
        name: str = self.request.connection.notes.get(REMOTE_IDENT_NOTE, "")
        return name

    def scheme(self) -> str:
        return identity.scheme(self.request)

    def has_tls(self) -> bool:
        return self.request.connection.tls is not None

    def server_name(self) -> str:
        name = identity.server_name(self.request)
        return f"[{name}]" if ":" in name and not name.startswith("[") else name

    def server_port(self) -> int:
        return identity.server_port(self.request)

    def software(self) -> str:
        return SOFTWARE

    def document_root(self) -> str:
        """Return DocumentRoot, as a module may have replaced it for this request."""
        r = self.request
        root: str = (
            r.document_root
            or r.server_conf(CoreServerConfig).document_root
            or r.engine.configuration.default_document_root
        )
        return root

    def context_prefix(self) -> str:
        context = self.request.context
        return context[0] if context else ""

    def context_document_root(self) -> str:
        context = self.request.context
        return context[1] if context else self.document_root()

    def log_id(self, *, connection: bool) -> str:
        value: str = self.request.connection.log_id if connection else self.request.log_id
        return value

    def subrequest_status(self, target: str, *, by_file: bool) -> tuple[int, bool]:
        """Return the status of a sub-request for a URL path or a file, and True if a file exists.

        A sub-request with the URL of its main request looks up no URL: httpd ends recursions so.
        """
        from whimbrel.engine.lookahead import may_probe, probe_target  # -t evaluates no condition

        r = self.request
        if not by_file and not may_probe(r):
            return 500, False
        sub = _run_sync(lambda: probe_target(r, target, by_file=by_file))
        return sub.status, sub.finfo is not None

    def debug(self, text: str, code: str) -> None:
        self.request.log("debug", text, code=code)


def _run_sync(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Return the result of *work*, which rarely suspends.

    If it does, the request waits for it. Where no request can wait, it runs again on a thread of its own.
    """
    from whimbrel.base.sync_waits import await_only, may_wait  # imports greenlet; -t evaluates nothing

    if may_wait():
        return await_only(work())
    found = run_until_suspended(work())
    if not isinstance(found, Suspended):
        return found
    import asyncio  # imported late: it costs 40 ms
    from concurrent.futures import ThreadPoolExecutor

    found.work.close()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


# Reading ------------------------------------------------------------------------------------------
class StringExpression:
    """A string of a configuration.  *fixed* is its text if no part depends on the request, else None."""

    __slots__ = ("fixed", "reads", "string")

    def __init__(self, string: StringExpr) -> None:
        self.string = string
        self.fixed = string.fixed
        self.reads = reads_of(string.reads)

    def text(self, r: Request, module: str = "core", found: Match | None = EMPTY_MATCH) -> str:
        """Return the string for this request (*found*: ``$0`` to ``$9``). Raise EvalError, logged."""
        if self.fixed is not None:
            return self.fixed
        try:
            return self.string(RequestView(r, module), found)
        except EvalError as problem:
            log_failure(r, self.string.place, problem, module)
            raise


def read_condition(cmd: Command, text: str, refusal: str) -> CompiledCondition:
    """Return the condition *text*; raises ConfigError: *refusal*, a colon, and what is wrong."""
    try:
        return compile_condition(
            text, restricted=cmd.in_htaccess, lookup=cmd.provider, place=f"{cmd.place.path}:{cmd.place.line}"
        )
    except ExprError as problem:
        raise ConfigError(f"{refusal}: {problem.reason}") from None


def read_string(cmd: Command, text: str, refusal: str) -> StringExpression:
    """Return the string expression *text* of a directive; raises ConfigError like `read_condition`."""
    try:
        return StringExpression(
            compile_string(
                text,
                restricted=cmd.in_htaccess,
                lookup=cmd.provider,
                place=f"{cmd.place.path}:{cmd.place.line}",
            )
        )
    except ExprError as problem:
        raise ConfigError(f"{refusal}: {problem.reason}") from None


def literal(text: str) -> StringExpression:
    """Return the text of a string without variables."""
    return StringExpression(StringExpr(text, text, frozenset(), ""))


def reads_of(names: frozenset[str]) -> Reads:
    """Return what an expression depends on, as `Reads` of a hook.

    An evaluation records what it read in the request: time, client, files.
    """
    reads = Reads.HEAD
    if CLIENT in names:
        reads |= Reads.CLIENT
    if TIME in names:
        reads |= Reads.TIME
    if UNCACHEABLE in names:
        reads |= Reads.UNCACHEABLE
    return reads


# Asking -------------------------------------------------------------------------------------------
def evaluate(r: Request, condition: CompiledCondition, module: str = "core", *, varies: bool = True) -> bool:
    """Return True if *condition* is true; the Vary field of the response names the fields that were read, if
    *varies*.

    Raise EvalError, logged under *module*.
    """
    return evaluate_match(r, condition, module, varies=varies)[0]


def evaluate_match(
    r: Request,
    condition: CompiledCondition,
    module: str = "core",
    found: Match | None = EMPTY_MATCH,
    varies: bool = True,
) -> tuple[bool, Match | None]:
    """Return `evaluate` and the last match (*found* without one), which gives ``$0`` to ``$9``."""
    evaluation = Evaluation(RequestView(r, module), found)
    try:
        result = condition.test(evaluation)
    except EvalError as problem:
        log_failure(r, condition.place, problem, module)
        raise
    if evaluation.vary and varies:
        r.headers_out.merge("Vary", ", ".join(evaluation.vary))
    if r.plan.is_traced:
        r.log("trace4", f"Evaluation of expression from {condition.place} gave: {result:d}", module=module)
    return result, evaluation.match


def log_failure(r: Request, place: str, problem: EvalError, module: str) -> None:
    """Log that the expression of *place* has no value for the request."""
    r.log("error", f"Evaluation of expression from {place} failed: {problem.reason}", module=module)
