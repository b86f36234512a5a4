"""Conditions of 2.4's FilterProvider: expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.engine.expressions import evaluate
from whimbrel.expr.api import compile_condition
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.modules.filters.mod_filter.handler_name import handler_name

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.mod_filter.settings import Test


def read_condition_24(cmd: Command, text: str) -> Test:
    """Return the condition; raises ConfigError.  An error of its evaluation is logged and counts as false."""
    try:
        condition = compile_condition(
            text, restricted=cmd.in_htaccess, lookup=cmd.provider, place=f"{cmd.place.path}:{cmd.place.line}"
        )
    except ExprError as problem:
        raise ConfigError(f"Error parsing FilterProvider expression:{problem.reason}") from None

    def test(r: Request) -> bool:
        handler, r.handler = r.handler, handler_name(r)
        try:
            return evaluate(r, condition, "filter")
        except EvalError as problem:
            message = f"Error evaluating filter dispatch condition: {problem.reason}"
            r.log("error", message, code="AH01379", module="filter")
            return False
        finally:
            r.handler = handler

    return test
