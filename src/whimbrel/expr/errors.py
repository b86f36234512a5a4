"""What can go wrong with an expression: when it is read, and when it is evaluated."""

from __future__ import annotations


class ExprError(Exception):
    """The text is no expression; *reason* is httpd's, to follow the directive's own words ("Cannot parse condition clause: ")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EvalError(Exception):
    """An expression that has no value for this request; *reason* is httpd's, to follow "Evaluation of expression from FILE:LINE failed: "."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
