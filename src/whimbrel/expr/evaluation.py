"""The state of one evaluation: the request, the last capturing match, the request fields that were read."""

from __future__ import annotations

from whimbrel.base.static_typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from whimbrel.base.regex import Match
    from whimbrel.expr.view import View

MAX_STRING: Final = 8191  # bytes of one piece of a string, and of a pattern (MAX_STRING_LEN)


class _EmptyMatch:
    """An empty match without groups."""

    __slots__ = ()

    def group(self, number: int = 0, /) -> Any:
        return ""

    def groups(self) -> Any:
        return ()

    def start(self, number: int = 0, /) -> int:
        return 0

    def end(self, number: int = 0, /) -> int:
        return 0


EMPTY_MATCH: Final = _EmptyMatch()


class Evaluation:
    """State of one evaluation.

    *match*: the last match of an expression with groups, `NOTHING_YET` before the first, None after a failed
    one; *vary*: the fields read, in order.
    """

    __slots__ = ("match", "request", "vary", "view")

    def __init__(self, view: View, match: Match | None = EMPTY_MATCH) -> None:
        self.view = view
        self.request = view.request
        self.match = match
        self.vary: list[str] = []

    def group(self, number: int) -> str:
        """Return a group of the last match; "" without one."""
        match = self.match
        if match is None or number > len(match.groups()):
            return ""
        return match.group(number) or ""

    def field(self, name: str) -> str | None:
        """Return a request field and add it to Vary; every response varies by Host anyway."""
        if name.lower() != "host":
            self.vary.append(name)
        value: str | None = self.request.headers_in.get(name)
        return value
