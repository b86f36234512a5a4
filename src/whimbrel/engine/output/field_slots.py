"""Field values that each use of a response computes anew: Keep-Alive count, values of the clock, length."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from whimbrel.base.latin1 import to_bytes
from whimbrel.http.semantics.headers import Pair


class ClockValue(str):
    """Field value that depends on the clock.

    *render* returns the value at a time in seconds since the epoch; the text is that of the response.
    """

    render: Callable[[int], str]

    def __new__(cls, render: Callable[[int], str], now: int) -> ClockValue:
        value = super().__new__(cls, render(now))
        value.render = render
        return value


class LengthValue(str):
    """Content-Length of a body that is rebuilt for each use."""


class KeepAliveCount(str):
    """Number of requests left in the Keep-Alive field."""


class KeepAliveValue(str):
    """Value of the Keep-Alive field that ends with a count (`KeepAliveCount`)."""

    parameters: str
    left: int

    def __new__(cls, timeout: int, left: int) -> KeepAliveValue:
        parameters = f"timeout={timeout}, max="
        value = super().__new__(cls, f"{parameters}{left}")
        value.parameters = parameters
        value.left = left
        return value


Slot = ClockValue | LengthValue | KeepAliveCount
HeadPiece = bytes | Slot


def head_pieces(before: str, fields: Iterable[Pair]) -> tuple[HeadPiece, ...]:
    """Return the text *before* and the lines of *fields*, the empty line included, in pieces around slots.

    A value without a slot, such as one that another module has edited, is plain text. The result is one piece
    if there is no slot.
    """
    pieces: list[HeadPiece] = []
    text = [before]
    for name, value in fields:
        text.append(f"{name}: ")
        slot: Slot | None = None
        if value.__class__ is str:
            text.append(value)
        elif isinstance(value, KeepAliveValue):
            text.append(value.parameters)
            slot = KeepAliveCount(value.left)
        elif isinstance(value, ClockValue | LengthValue):
            slot = value
        else:
            text.append(value)
        if slot is not None:
            pieces += [to_bytes("".join(text)), slot]
            text.clear()
        text.append("\r\n")
    pieces.append(to_bytes("".join([*text, "\r\n"])))
    return tuple(pieces)


def joined(pieces: Iterable[HeadPiece]) -> bytes:
    """Return the bytes of *pieces* with the values that the slots have in the response."""
    return b"".join([piece if isinstance(piece, bytes) else to_bytes(piece) for piece in pieces])
