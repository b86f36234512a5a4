"""Input filters: the filter nearest to the connection reads first."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter, add_input_filter, run_input_filters
from whimbrel.engine.output.filter import FilterType
from whimbrel.http.http1.chunked import BodyError


class Marked(FilteredBody):
    """Body with a mark behind each piece."""

    def __init__(self, source: RequestBody, mark: bytes) -> None:
        super().__init__(source)
        self.mark = mark

    async def read(self) -> bytes:
        data = await self.source.read()
        return data + self.mark if data else b""


class Mark(InputFilter):
    """Filter that marks each piece."""

    def __init__(self, mark: str, kind: int = FilterType.RESOURCE) -> None:
        self.mark, self.type, self.name = mark.encode(), kind, mark

    def wrap(self, r: Any, body: RequestBody) -> RequestBody:
        return Marked(body, self.mark)


def fed(data: bytes) -> RequestBody:
    body = RequestBody(len(data))
    body.feed(data)
    body.end()
    return body


def test_filters_of_higher_types_are_nearer_to_the_connection() -> None:
    r: Any = SimpleNamespace(body_in=fed(b"x"), input_filters=[])
    for each in (Mark("a"), Mark("t", FilterType.TRANSCODE), Mark("b")):
        add_input_filter(r, each)
    run_input_filters(r)
    assert asyncio.run(r.body_in.read_all()) == b"xtba"


def test_the_limit_counts_bytes_before_the_filters() -> None:
    for limit, passes in ((3, True), (2, False)):
        r: Any = SimpleNamespace(body_in=fed(b"xyz"), input_filters=[Mark("much more")])
        r.body_in.limit = limit
        run_input_filters(r)
        if passes:
            assert asyncio.run(r.body_in.read_all()) == b"xyzmuch more"
        else:
            with pytest.raises(BodyError) as refused:
                asyncio.run(r.body_in.read_all())
            assert refused.value.status == 413
