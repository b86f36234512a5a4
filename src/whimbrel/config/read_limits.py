"""Time limits for reading from a client: mod_reqtimeout fills them, connections apply them.

Manual: mod/mod_reqtimeout.html.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadLimit:
    """Time limit of one phase of reading.

    Attributes:
        first: seconds until the phase must be complete; 0 disables the limit
        most: seconds to which arriving data may extend it; 0 means without end
        rate: bytes that extend it by one second; 0 means that data does not extend it
    """

    first: int = 0
    most: int = 0
    rate: int = 0


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of the three phases of reading on a connection."""

    handshake: ReadLimit
    header: ReadLimit
    body: ReadLimit
