"""Request methods as httpd numbers them: <Limit> has a bit for each; HEAD has GET's number."""

from __future__ import annotations

from whimbrel.base.static_typing import Final

NAMES: Final = (
    "GET",
    "PUT",
    "POST",
    "DELETE",
    "CONNECT",
    "OPTIONS",
    "TRACE",
    "PATCH",
    "PROPFIND",
    "PROPPATCH",
    "MKCOL",
    "COPY",
    "MOVE",
    "LOCK",
    "UNLOCK",
    "VERSION-CONTROL",
    "CHECKOUT",
    "UNCHECKOUT",
    "CHECKIN",
    "UPDATE",
    "LABEL",
    "REPORT",
    "MKWORKSPACE",
    "MKACTIVITY",
    "BASELINE-CONTROL",
    "MERGE",
)
INVALID: Final = 26
ALL: Final = -1
_FIRST_EXTENSION: Final = 27
_LAST: Final = 62


class Methods:
    """The methods that one configuration knows; <Limit NAME> registers a further one."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = {name: i for i, name in enumerate(NAMES)}
        self._numbers["HEAD"] = 0

    def number(self, name: str) -> int:
        """Return the number of the method, INVALID if it is not registered; names are case-sensitive."""
        return self._numbers.get(name, INVALID)

    def register(self, name: str) -> int:
        """Return the number of *name*, which is added when it is new; INVALID when there is no room left."""
        known = self._numbers.get(name)
        if known is not None:
            return known
        number = len(self._numbers) - 1 - len(NAMES) + _FIRST_EXTENSION
        if number > _LAST:
            return INVALID
        self._numbers[name] = number
        return number

    def bit(self, name: str) -> int:
        """Return the bit of the method in a <Limit> mask."""
        return 1 << self.number(name)

    def known(self) -> list[str]:
        """Every registered name, in order of its number."""
        return [name for name in self._numbers if name != "HEAD"]
