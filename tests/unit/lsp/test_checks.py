"""Checks after a pause: one for many changes, none for older texts."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from lsprotocol.types import Diagnostic

from whimbrel.lsp import checks
from whimbrel.lsp.analysis import Cancelled, FileAnalysis, analyze
from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.main_files import Unit
from whimbrel.lsp.session import EditorSession

URI = "file:///nowhere/a.conf"
PATH = "/nowhere/a.conf"


def test_many_changes_are_one_check_of_the_last_text(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []
    published: list[tuple[int | None, bool]] = []

    def counted(unit: Unit, texts: dict[str, bytes], cancelled: threading.Event) -> FileAnalysis:
        seen.append(texts[PATH])
        return analyze(unit, texts, cancelled)

    monkeypatch.setattr(checks, "analyze", counted)

    async def session() -> None:
        arrived = asyncio.Event()

        def publish(document: TextDocument, found: list[Diagnostic]) -> None:
            published.append((document.version, bool(found)))
            arrived.set()

        editor = EditorSession(publish, pause=0.01)
        for version in range(1, 6):
            editor.documents.open(URI, "Optoins None\n" * version, version)
            editor.checks.schedule(PATH)
        await asyncio.wait_for(arrived.wait(), 30)
        editor.checks.stop()

    asyncio.run(session())
    assert seen == [b"Optoins None\n" * 5]
    assert published == [(5, True)]


def test_a_running_check_stops_when_the_text_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    ended: list[str] = []

    def slow(unit: Unit, texts: dict[str, bytes], cancelled: threading.Event) -> FileAnalysis:
        if texts[PATH] == b"old\n":
            begun.set()
            assert cancelled.wait(30)
            ended.append("old")
        return analyze(unit, texts, cancelled)

    monkeypatch.setattr(checks, "analyze", slow)

    async def session() -> list[int | None]:
        versions: list[int | None] = []
        arrived = asyncio.Event()

        def publish(document: TextDocument, _found: list[Diagnostic]) -> None:
            versions.append(document.version)
            arrived.set()

        editor = EditorSession(publish, pause=0.0)
        editor.documents.open(URI, "old\n", 1)
        editor.checks.schedule(PATH)
        await asyncio.to_thread(begun.wait, 30)
        editor.documents.open(URI, "Timeout 3\n", 2)
        editor.checks.schedule(PATH)
        await asyncio.wait_for(arrived.wait(), 30)
        editor.checks.stop()
        return versions

    assert asyncio.run(session()) == [2]
    assert ended == ["old"]


def test_a_cancelled_check_raises() -> None:
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(Cancelled):
        analyze(Unit(PATH, False), {PATH: b"Timeout 3\n"}, cancelled)


def test_a_file_that_vanished_is_a_problem_of_the_result() -> None:
    result = analyze(Unit("/nowhere/conf/httpd.conf", True), {}, threading.Event())
    assert "No such file" in result.problem


def test_results_that_are_kept_have_a_bound_and_a_defect_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(unit: Unit, _texts: dict[str, bytes], _cancelled: threading.Event) -> FileAnalysis:
        raise ZeroDivisionError(unit.path)

    monkeypatch.setattr(checks, "analyze", broken)
    monkeypatch.setattr(checks, "MAX_ANALYSES", 2)
    paths = [f"/nowhere/{number}.conf" for number in range(4)]

    async def session() -> list[str]:
        editor = EditorSession(lambda _document, _found: None, pause=0.0)
        for path in paths:
            editor.documents.open(f"file://{path}", "Timeout 3\n", 1)
            editor.checks.schedule(path)
        async with asyncio.timeout(30):
            while any(editor.checks.result_for(path) is None for path in paths[2:]):
                await asyncio.sleep(0.01)
        editor.checks.stop()
        return [found.problem for path in paths if (found := editor.checks.result_for(path)) is not None]

    assert asyncio.run(session()) == [f"ZeroDivisionError: {path}" for path in paths[2:]]
