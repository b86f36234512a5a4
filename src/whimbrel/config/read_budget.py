"""Bound of the text that one configuration may become: files, as often as they are included, macros,
variables.

httpd has no such bound: forty macros that use each other ten times, or sixty files that include the next one
twice, take all time and memory. A line costs its bytes and what its node takes.
"""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.static_typing import Final

MAX_TEXT: Final = 128 * 1024 * 1024
"""Cost of one configuration: 20,000 virtual hosts of thirty lines, each in a file of its own, cost four
fifths.
"""
FILE_COST: Final = 2048
LINE_COST: Final = 64


class ReadBudget:
    """What is left of *most*."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int = MAX_TEXT) -> None:
        self._most = most
        self._left = most

    def charge_file(self, data: bytes) -> None:
        """Charge for one reading of a file; raises ConfigError."""
        self.charge(FILE_COST + len(data) + LINE_COST * data.count(b"\n"))

    def charge(self, cost: int) -> None:
        """Charge *cost*; raises ConfigError if it is more than what is left."""
        self._left -= cost
        if self._left < 0:
            raise ConfigError(
                "Configuration too large: its files, macros and variables make more than "
                f"{self._most >> 20} MB"
            )
