"""Errors of expressions: on parsing, and on evaluation."""

from __future__ import annotations


class ExprError(Exception):
    """The text is no expression; *reason* follows the directive's text ("Cannot parse ...: ")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EvalError(Exception):
    """An expression has no value; *reason*: httpd's, after "Evaluation of expression from ... failed"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
