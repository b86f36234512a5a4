"""Errors of expressions: on parsing, and on evaluation."""

from __future__ import annotations


class ExprError(Exception):
    """The text is no expression; *reason* follows the directive's text ("Cannot parse ...: ")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EvalError(Exception):
    """An expression without a value for this request; *reason* is httpd's, after "Evaluation of expression
    from FILE:LINE failed: ".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
