"""RewriteCond expr: conditions in the expression language of 2.4."""

from __future__ import annotations

from typing import Any

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import RequestView, log_failure, reads_of
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.expr.evaluation import Evaluation
from whimbrel.modules.mappers.mod_rewrite.context import Context
from whimbrel.modules.mappers.mod_rewrite.settings import Cond
from whimbrel.registry.module import Reads


def read(cmd: Command, text: str) -> Any:
    """Compile a condition; raise ConfigError with httpd's messages."""
    try:
        return compile_condition(
            text, restricted=cmd.in_htaccess, lookup=cmd.provider, place=f"{cmd.place.path}:{cmd.place.line}"
        )
    except ExprError as problem:
        raise ConfigError(f'RewriteCond: cannot compile expression "{text}" {problem.reason}') from None


def holds(cond: Cond, c: Context) -> bool:
    """Evaluate the expression; ``%N`` refers to its last match with groups afterwards."""
    evaluation = Evaluation(RequestView(c.r, "rewrite"))
    try:
        result = bool(cond.expression.test(evaluation))
    except EvalError as problem:
        log_failure(c.r, cond.expression.place, problem, "rewrite")
        c.log_step(1, f"RewriteCond: expr='{cond.written}' evaluation failed: {problem.reason}")
        return False
    if evaluation.vary and not cond.no_vary:
        c.r.headers_out.merge("Vary", ", ".join(evaluation.vary))
    if result and not cond.negated:
        c.cond = evaluation.match
    return result


def reads(cond: Cond) -> Reads:
    """Return the dependencies of the expression."""
    return reads_of(cond.expression.reads) if cond.expression is not None else Reads.NOTHING
