"""Output filters: order, framing, pieces, and release of what is not read."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.samples import amount

from whimbrel.engine.body import PIECE, Aborted, FileSegment, Part, Source
from whimbrel.engine.output.filter import FilterError, FilterType, OutputFilter, Transform, add_output_filter
from whimbrel.engine.output.filters import MAX_GATHERED, run_output_filters
from whimbrel.registry.module import Reads
from whimbrel.testing.fake_runtime import FakeRuntime


class Deps:
    on_client = False


class FakeRequest:
    """Request with a body, as far as filters use it."""

    def __init__(self, *parts: Part) -> None:
        self.body, self.chunked, self.output_filters = list(parts), False, []
        self.deps, self.uncacheable = Deps(), False
        self.engine: Any = type("Engine", (), {"runtime": FakeRuntime()})

    def set_uncacheable(self) -> None:
        self.uncacheable = True


class Pieces(Source):
    """Source of *pieces*; it fails behind them if *fails*."""

    def __init__(self, *pieces: bytes, fails: bool = False) -> None:
        self.left, self.fails, self.ended = list(pieces), fails, ""

    async def read(self) -> bytes | None:
        if not self.left and self.fails:
            raise Aborted("broken")
        return self.left.pop(0) if self.left else None

    def drop(self) -> None:
        self.ended = "dropped"

    async def aclose(self) -> None:
        self.ended = "closed"


class Held(Transform):
    """Holds back the last *count* bytes of its input, and marks the end."""

    def __init__(self, count: int, mark: bytes = b"$", *, is_heavy: bool = False) -> None:
        self.count, self.mark, self.held, self.is_heavy = count, mark, b"", is_heavy

    def feed(self, data: bytes) -> bytes:
        self.held += data
        out, self.held = self.held[: -self.count or None], self.held[-self.count :] if self.count else b""
        return out

    def end(self, data: bytes) -> bytes:
        return self.held + data + self.mark


class Filter(OutputFilter):
    """Filter that begins *begun*."""

    def __init__(self, begun: Any, name: str = "F", kind: int = FilterType.RESOURCE) -> None:
        self.begun, self.name, self.type = begun, name, kind

    def begin(self, r: Any) -> Any:
        return self.begun() if callable(self.begun) else self.begun


def run(r: FakeRequest, *filters: OutputFilter) -> None:
    request: Any = r
    for each in filters:
        add_output_filter(request, each)
    asyncio.run(run_output_filters(request))


async def read(parts: list[Part]) -> bytes:
    out = b""
    for part in parts:
        if isinstance(part, Source):
            while (data := await part.read()) is not None:
                assert data
                out += data
        else:
            assert isinstance(part, bytes)
            out += part
    return out


def test_filters_run_by_type_and_then_by_insertion() -> None:
    r: Any = FakeRequest()
    types = {"c": 20, "a": 10, "d": 20, "b": 10, "e": 30, "before": 18}
    for name, kind in types.items():
        add_output_filter(r, Filter(None, name, kind))
    assert [each.name for each in r.output_filters] == ["a", "b", "before", "c", "d", "e"]


def test_a_small_complete_body_is_one_call() -> None:
    calls: list[bytes] = []

    class Once(Transform):
        def feed(self, data: bytes) -> bytes:
            raise AssertionError

        def end(self, data: bytes) -> bytes:
            calls.append(data)
            return data

    r = FakeRequest(b"one", b"two")
    run(r, Filter(Once()))
    assert (calls, r.body, r.chunked) == ([b"onetwo"], [b"onetwo"], False)


@pytest.mark.parametrize(("count", "chunked"), [(3, True), (100, False)])
def test_output_before_the_end_of_a_source_makes_the_response_chunked(count: int, chunked: bool) -> None:
    r = FakeRequest(Pieces(b"abcdef", b"ghi"))
    run(r, Filter(Held(count)))
    assert r.chunked is chunked
    assert asyncio.run(read(r.body)) == b"abcdefghi$"
    assert all(isinstance(part, bytes) for part in r.body) is not chunked


def test_a_complete_body_of_several_brigades_is_chunked_if_a_filter_passes_it_on() -> None:
    for count, chunked in ((0, True), (100, False)):
        r = FakeRequest(b"abc")
        r.chunked = True
        run(r, Filter(Held(count)))
        assert (r.body, r.chunked) == ([b"abc$"], chunked)


class Recorder(FakeRuntime):
    """Runtime that records the work that it runs in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self.is_computing = False

    async def compute(self, work: Any) -> Any:
        self.is_computing = True
        try:
            return work()
        finally:
            self.is_computing = False


@pytest.mark.parametrize("size", [500, 1001, PIECE + 1, MAX_GATHERED + PIECE])
@pytest.mark.parametrize("threshold", [1000, PIECE])
def test_only_feed_and_finish_run_in_a_thread(size: int, threshold: int) -> None:
    """The end of a transform logs and stores, which only the event loop may do."""
    runtime, calls = Recorder(), []

    class Heavy(Transform):
        is_heavy = True
        thread_threshold = threshold

        def feed(self, data: bytes) -> bytes:
            calls.append(("feed", runtime.is_computing, len(data) >= threshold))
            return data

        def finish(self) -> None:
            calls.append(("finish", runtime.is_computing, size > threshold))

        def end(self, data: bytes) -> bytes:
            calls.append(("end", runtime.is_computing, False))
            return data

    data = os.urandom(size)
    r = FakeRequest(data)
    r.engine.runtime = runtime
    run(r, Filter(Heavy()))
    assert asyncio.run(read(r.body)) == data
    assert {call for call in calls if call[0] == "end"} == {("end", False, False)}
    assert all(in_thread is is_large for name, in_thread, is_large in calls if name != "end")
    assert ("finish" in {name for name, *_ in calls}) is (size > threshold)


@pytest.mark.parametrize("size", [PIECE + 1, MAX_GATHERED + PIECE])
@pytest.mark.parametrize("is_heavy", [False, True])
def test_a_large_file_is_complete_up_to_a_bound(size: int, is_heavy: bool, tmp_path: Path) -> None:
    data = os.urandom(size)
    (tmp_path / "a").write_bytes(data)
    handle = os.open(tmp_path / "a", os.O_RDONLY)
    r = FakeRequest(FileSegment(handle, 0, size))
    run(r, Filter(Held(5, is_heavy=is_heavy)))
    assert isinstance(r.body[0], Source) is (size > MAX_GATHERED)
    assert asyncio.run(read(r.body)) == data + b"$"
    with pytest.raises(OSError):
        os.fstat(handle)


def test_a_failure_of_the_input_is_raised_to_the_reader() -> None:
    r = FakeRequest(Pieces(b"abc", fails=True))
    run(r, Filter(Held(0)))
    with pytest.raises(Aborted):
        asyncio.run(read(r.body))


class Failing(Transform):
    """Passes its input on up to *at*, then fails."""

    def __init__(self, at: int) -> None:
        self.at = at

    def feed(self, data: bytes) -> bytes:
        if len(data) > self.at:
            raise FilterError(passed=data[: self.at])
        self.at -= len(data)
        return data

    def end(self, data: bytes) -> bytes:
        return self.feed(data)


async def read_until_failure(parts: list[Part]) -> bytes:
    out = b""
    with pytest.raises(Aborted):
        for part in parts:
            if isinstance(part, Source):
                while (data := await part.read()) is not None:
                    out += data
            else:
                assert isinstance(part, bytes)
                out += part
    return out


@pytest.mark.parametrize("parts", [(b"abcdef",), (Pieces(b"abc", b"def"),), (b"x" * (PIECE + 6),)])
def test_output_before_a_failure_goes_out_and_the_response_is_cut(parts: tuple[Part, ...]) -> None:
    r = FakeRequest(*parts)
    run(r, Filter(Failing(4)))
    assert asyncio.run(read_until_failure(r.body)) in (b"abcd", b"xxxx")
    assert r.chunked and (r.uncacheable or isinstance(parts[0], Source))


@pytest.mark.parametrize("parts", [(b"abcdef",), (Pieces(b"abc", b"def"),), (b"x" * (PIECE + 6),)])
def test_a_failure_without_output_is_raised_before_the_head(parts: tuple[Part, ...]) -> None:
    r = FakeRequest(*parts)
    with pytest.raises(FilterError):
        run(r, Filter(Failing(0)))
    assert r.body == []


@pytest.mark.parametrize("how", ["dropped", "closed"])
def test_the_input_is_released(how: str) -> None:
    source = Pieces(b"abc", b"def", fails=True)
    r = FakeRequest(source)
    run(r, Filter(Held(0)))
    (part,) = r.body
    assert isinstance(part, Source)
    if how == "dropped":
        part.drop()
    else:
        asyncio.run(part.aclose())
    assert source.ended == how


def test_filters_behind_the_head_run_later() -> None:
    r: Any = FakeRequest(b"x")
    run(r, Filter(lambda: Held(0), "late", FilterType.PROTOCOL + 3))
    assert r.body == [b"x"]
    asyncio.run(run_output_filters(r, after_head=True))
    assert r.body == [b"x$"]


def test_what_a_filter_reads_decides_about_caching() -> None:
    for reads, wanted in (
        (Reads.HEAD, (False, False)),
        (Reads.UNCACHEABLE, (True, False)),
        (Reads.CLIENT, (False, True)),
    ):
        r, each = FakeRequest(b"x"), Filter(lambda: Held(0))
        each.reads = reads
        run(r, each)
        assert (r.uncacheable, r.deps.on_client) == wanted


@settings(deadline=None, max_examples=amount(66, 200))
@given(
    st.lists(st.binary(max_size=30), max_size=6),
    st.lists(st.tuples(st.integers(0, 40), st.binary(max_size=3)), max_size=4),
    st.sampled_from(["bytes", "source", "mixed"]),
    st.booleans(),
)
def test_any_chain_gives_the_same_bytes(
    pieces: list[bytes], chain: list[tuple[int, bytes]], kind: str, chunked: bool
) -> None:
    wanted = b"".join(pieces)
    for _count, mark in chain:
        wanted += mark
    some = [piece for piece in pieces if piece]
    parts: list[Part] = (
        [*some]
        if kind == "bytes"
        else [Pieces(*some)]
        if kind == "source"
        else [*some[:2], Pieces(*some[2:4]), *some[4:]]
    )
    r = FakeRequest(*parts)
    r.chunked = chunked
    run(r, *(Filter(lambda count=count, mark=mark: Held(count, mark)) for count, mark in chain))
    assert asyncio.run(read(r.body)) == wanted
