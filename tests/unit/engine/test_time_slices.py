"""Long work in slices: the loop ticks between them, however many requests have long work."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import thread_time

import pytest
from tests.support.client import response_size
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.engine.time_slices import MAX_SHORT, Slices, Turns, names_in

# seconds of processor time that 19 of 20 ticks may take: a slice and its last step, on a slow machine
LONGEST = 0.004
ENTRIES = 6000
CONF = """LoadModule negotiation_module modules/mod_negotiation.so
LoadModule speling_module modules/mod_speling.so
LoadModule include_module modules/mod_include.so
LoadModule sed_module modules/mod_sed.so
LoadModule substitute_module modules/mod_substitute.so
AddOutputFilter Sed .sed
AddOutputFilter SUBSTITUTE .edited
<Directory "@/htdocs">
OutputSed s/[aeiou]/x/g
Substitute "s/([aeiou])([a-z])/$2$1/"
Options +Indexes +MultiViews +Includes
IndexOptions FancyIndexing VersionSort
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
CheckSpelling On
</Directory>
"""


async def turns_beside(serving: Engine, path: str, count: int) -> list[float]:
    """The processor time of each turn of the loop while *count* requests for *path* are answered."""
    work = [asyncio.create_task(response_size(serving, f"{path}?{number}")) for number in range(count)]
    turns, before = [], thread_time()
    while not all(task.done() for task in work):
        await asyncio.sleep(0)
        now = thread_time()
        turns.append(now - before)
        before = now
    assert not any(task.exception() for task in work)
    return turns


@pytest.mark.parametrize(
    "path", ["/list/", "/list/file7", "/list/fiel77.txt", "/page.shtml", "/page.sed", "/page.edited"]
)
def test_other_clients_have_their_turns(path: str, tmp_path: Path) -> None:
    page = '<!--#echo var="DATE_LOCAL" --><!--#include virtual="/a.txt" -->\n' * 500
    lines = "curlew godwit whimbrel sand mudflat\n" * 3000
    files = {"a.txt": "A", "page.shtml": page, "page.sed": lines, "page.edited": lines}
    serving = build_engine(tmp_path, CONF, {f"htdocs/{name}": text for name, text in files.items()})
    (tmp_path / "htdocs/list").mkdir()
    for number in range(ENTRIES):
        (tmp_path / f"htdocs/list/file{number}.txt").touch()
    turns = sorted(asyncio.run(turns_beside(serving, path, 3)))
    assert len(turns) > 8
    assert turns[(len(turns) - 1) * 19 // 20] < LONGEST


def test_short_work_does_not_wait() -> None:
    """It needs no loop at all."""
    turns = Turns()
    turns.length = 0.0
    work = Slices(turns)

    async def steps() -> None:
        for _ in range(MAX_SHORT):
            await work.pause()

    with pytest.raises(StopIteration):
        steps().send(None)


def test_work_without_others_has_a_slice_in_each_tick() -> None:
    turns = Turns()

    async def run() -> int:
        work = asyncio.create_task(slices())
        ticks = 0
        while not work.done():
            await asyncio.sleep(0)
            ticks += 1
        return ticks

    async def slices() -> None:
        for _ in range(20):
            await turns.next()

    assert asyncio.run(run()) <= 22


def test_one_slice_in_each_turn() -> None:
    """Two pieces of work alternate, and a cancelled one delays no other."""
    turns = Turns()
    seen: list[str] = []

    async def work(name: str) -> None:
        for _ in range(4):
            await turns.next()
            seen.append(name)

    async def run() -> None:
        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.wait(tasks)

    asyncio.run(run())
    assert "".join(seen) == "acacacac"


def test_names(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / str(number)).touch()
    found = asyncio.run(names_in(bytes(tmp_path), Slices(Turns())))
    assert sorted(found) == sorted(str(number).encode() for number in range(200))
    with pytest.raises(OSError, match="No such file"):
        asyncio.run(names_in(bytes(tmp_path / "none"), Slices(Turns())))
