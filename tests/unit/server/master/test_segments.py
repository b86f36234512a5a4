"""Shared segments: kept across graceful restarts while their layout is the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from whimbrel.registry.module import Segment
from whimbrel.server.master.segments import SegmentStore


def configuration(*segments: Segment) -> Any:
    module = SimpleNamespace(shared=(lambda _configuration: segments,))
    return SimpleNamespace(modules=SimpleNamespace(modules=[module]))


def test_contents_are_kept_while_name_size_and_layout_are_the_same() -> None:
    store = SegmentStore()
    store.open(configuration(Segment("a", 64, "1"), Segment("b", 64, "1")))["a"][:2] = b"xy"
    second = store.open(configuration(Segment("a", 64, "1"), Segment("b", 64, "2")))
    assert (second["a"][:2], second["b"][:2], len(second["a"])) == (b"xy", b"\0\0", 64)
    assert store.open(configuration(Segment("a", 64, "2")))["a"][:2] == b"\0\0"


def test_a_segment_that_one_configuration_lacks_is_new_in_the_next() -> None:
    store = SegmentStore()
    store.open(configuration(Segment("a", 8)))["a"][:2] = b"xy"
    store.open(configuration())
    assert store.open(configuration(Segment("a", 8)))["a"][:2] == b"\0\0"


def test_a_restart_that_is_not_graceful_drops_the_contents() -> None:
    store = SegmentStore()
    store.open(configuration(Segment("a", 8)))["a"][:2] = b"xy"
    store.forget()
    assert store.open(configuration(Segment("a", 8)))["a"][:2] == b"\0\0"


def test_new_contents_are_filled_and_dropped_ones_saved() -> None:
    store, saved = SegmentStore(), list[bytes]()

    def fill(memory: Any) -> None:
        memory[:2] = b"ab"

    def segment(layout: str) -> Segment:
        return Segment("a", 8, layout, fill, lambda memory: saved.append(memory[:2]))

    assert store.open(configuration(segment("1")))["a"][:2] == b"ab"
    store.open(configuration(segment("1")))["a"][:2] = b"xy"
    assert saved == []
    assert store.open(configuration(segment("2")))["a"][:2] == b"ab" and saved == [b"xy"]
    store.forget()
    assert saved == [b"xy", b"ab"]
