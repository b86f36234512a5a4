"""States of a connection of HTTP/1, and the table of their changes: `Http1Connection.change` looks here, and
nothing else sets a state.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Final


class ConnectionState(IntEnum):
    """State of a connection."""

    READY = auto()  # waits for a head
    BUSY = auto()  # a response is computed or sent
    DISCARD = auto()  # the response is sent, the rest of the request body is awaited
    LINGER = auto()  # our side is closed


class Event(IntEnum):
    """What changes the state of a connection."""

    BEGIN = auto()  # a request is passed on: to the engine, to a back end, or to the end of the tick
    BODY_LEFT = auto()  # its response is sent, and the client still sends its body
    DONE = auto()  # its response is sent, and its body has ended
    END = auto()  # our side closes, or another protocol takes over


# a look-up in an enumeration costs more, and each request has some
READY, BUSY, DISCARD, LINGER = ConnectionState
BEGIN, BODY_LEFT, DONE, END = Event

# An event that is absent cannot occur in the state.
TRANSITIONS: Final[dict[ConnectionState, dict[Event, ConnectionState]]] = {
    # the general path may take over a request that a shorter one has begun
    READY: {BEGIN: BUSY, END: LINGER},
    BUSY: {BEGIN: BUSY, BODY_LEFT: DISCARD, DONE: READY, END: LINGER},
    DISCARD: {DONE: READY, END: LINGER},
    # a relayed request of a client that is gone is passed on, to be ended and logged
    LINGER: {BEGIN: LINGER, END: LINGER},
}
