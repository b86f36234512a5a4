"""Listings of large directories: not cached, and two at a time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.unit.engine.test_time_slices import answered
from tests.unit.modules.asked import ask, engine

from whimbrel.engine.engine import Engine
from whimbrel.engine.time_slices import MAX_LARGE
from whimbrel.modules.generators.mod_autoindex import listing

CONF = '<Directory "@/htdocs">\nOptions +Indexes\nIndexOptions FancyIndexing\n</Directory>\n'


def serving(root: Path, count: int) -> Engine:
    made = engine(root, CONF)
    for number in range(count):
        (root / f"htdocs/{number}.txt").touch()
    return made


@pytest.mark.parametrize(("count", "is_cached"), [(10, True), (30, False)])
def test_only_small_ones_are_cached(
    count: int, is_cached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached listing validates every file, in one tick."""
    monkeypatch.setattr(listing, "MAX_CACHED_NAMES", 20)
    monkeypatch.setattr(listing, "MAX_SMALL_LISTING", 5)
    made = serving(tmp_path, count)
    kept: list[bool] = []
    finished = made.on_response_sent
    made.on_response_sent = lambda r, *rest: (kept.append(r.may_cache), finished(r, *rest))[1]  # type: ignore[method-assign]
    assert f"{count - 1}.txt" in ask(made, "/").body
    assert kept == [is_cached]


def test_two_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "MAX_SMALL_LISTING", 20)
    made = serving(tmp_path, 50)
    at_work, most, listed = 0, 0, listing._list

    async def counted(*arguments: object) -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0.01)
        await listed(*arguments)  # type: ignore[arg-type]
        at_work -= 1

    monkeypatch.setattr(listing, "_list", counted)

    async def run() -> list[int]:
        return await asyncio.gather(*(answered(made, f"/?{number}") for number in range(6)))

    assert len(set(asyncio.run(run()))) == 1
    assert most == MAX_LARGE
