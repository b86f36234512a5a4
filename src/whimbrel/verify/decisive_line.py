"""The one line that gave a client access or refused it, among the lines that were asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from whimbrel.verify.answer import DECIDES, REFUSED, DecidingLine

OF_ACCESS: Final = frozenset((401, 403, 500))
"""Statuses that access control may give."""
_GRANTING: Final[tuple[Callable[[DecidingLine], bool], ...]] = (
    lambda line: line.verdict.startswith("granted"),
    lambda line: _is(line, "allow") and line.verdict.startswith("matches"),
    lambda line: _is(line, "require") and line.verdict.startswith("applies"),
    lambda line: _is(line, "order"),
)
"""What a line is that admits, the surest first: Order alone does if no Allow or Deny line has the client."""
_REFUSING: Final[tuple[Callable[[DecidingLine], bool], ...]] = (
    lambda line: line.role == REFUSED,
    lambda line: _is(line, "deny") and line.verdict.startswith("matches"),
    lambda line: line.verdict.startswith("denied"),
    lambda line: _is(line, "require") and line.verdict.startswith("applies"),
    lambda line: _is(line, "order"),
)
_CHALLENGING: Final[tuple[Callable[[DecidingLine], bool], ...]] = (
    lambda line: line.role == REFUSED,
    lambda line: _is(line, "require"),
)


def decisive_line(lines: Iterable[DecidingLine], status: int) -> DecidingLine | None:
    """Return the line of *lines* to which an answer with *status* is due, None if none is known.

    A 401 asks for a user: a Require line does, whatever refused the address.
    """
    deciding = [line for line in lines if line.role in (DECIDES, REFUSED)]
    kinds = {401: _CHALLENGING, 403: _REFUSING, 500: _REFUSING}.get(status, _GRANTING)
    return next((line for is_kind in kinds for line in deciding if is_kind(line)), None)


def _is(line: DecidingLine, name: str) -> bool:
    return line.text.partition(" ")[0].lower() == name
