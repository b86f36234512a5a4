"""Slots of response heads: pieces around values that change with each use."""

from __future__ import annotations

from whimbrel.engine.output.field_slots import (
    ClockValue,
    KeepAliveCount,
    KeepAliveValue,
    LengthValue,
    head_pieces,
    joined,
)


def test_a_head_without_slots_is_one_piece() -> None:
    assert head_pieces("\r\nServer: x\r\n", [("A", "1")]) == (b"\r\nServer: x\r\nA: 1\r\n\r\n",)


def test_slots_stand_where_their_values_stand() -> None:
    clock = ClockValue(lambda now: f"at {now}", 7)
    fields = [("X", clock), ("Keep-Alive", KeepAliveValue(5, 99)), ("Content-Length", LengthValue("12"))]
    pieces = head_pieces("\r\n", fields)
    assert [type(piece) for piece in pieces] == [
        bytes,
        ClockValue,
        bytes,
        KeepAliveCount,
        bytes,
        LengthValue,
        bytes,
    ]
    assert joined(pieces) == b"\r\nX: at 7\r\nKeep-Alive: timeout=5, max=99\r\nContent-Length: 12\r\n\r\n"
    assert pieces[1] is clock and clock.render(9) == "at 9"


def test_an_edited_value_has_no_slot() -> None:
    value = ClockValue(lambda now: str(now), 7)
    assert len(head_pieces("\r\n", [("X", value + "!")])) == 1
