"""`whimbrel lsp`: broken positions, files that vanish, texts that are none, settings, encodings, ports."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types
from tests.corpus.configurations import LARGER_SET, files
from tests.support.editor import SECONDS, START, Editor, Work, ask_everything, editor, running_editor
from tests.support.samples import amount, some

from whimbrel.lsp.diagnostics import MAX_DIAGNOSTICS

MIN_FILES = amount(10, 60)
MAX_SIZE = 20_000
LONG = 1 << 20


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Work], None]]:
    """Return a runner of work with one server."""
    with running_editor() as run_work:
        yield run_work


def test_broken_positions_are_answered(tmp_path: Path, run: Callable[[Work], None]) -> None:
    async def work(client: Editor) -> None:
        uri = client.open(tmp_path / "a.conf", "# \U0001f600 \ud83d\nListen 80\n")
        for place in (
            types.Position(0, 3),  # within a pair of surrogates
            types.Position(0, 2**31 - 1),
            types.Position(2**31 - 1, 2**31 - 1),
        ):
            await ask_everything(client, uri, place)
        for name in ("line", "character"):
            place = types.Position(0, 0)
            object.__setattr__(place, name, -1)
            await ask_everything(client, uri, place)
        await ask_everything(client, "file:///nowhere/never/opened.conf", types.Position(3, 3))
        await ask_everything(client, "untitled:Untitled-1", types.Position(0, 0))
        assert [one.code for one in await client.found(uri)] == []

    run(work)


def test_files_may_vanish(tmp_path: Path, run: Callable[[Work], None]) -> None:
    directory = tmp_path / "conf"
    directory.mkdir()
    main = directory / "httpd.conf"
    main.write_text(f'ServerRoot "{tmp_path}"\nListen 80\nInclude conf/a.conf\n')
    (directory / "a.conf").write_text("Optoins None\n")

    async def work(client: Editor) -> None:
        uri = client.open(directory / "a.conf")
        assert "SYNTAX" in [one.code for one in await client.found(uri)]
        main.unlink()
        (directory / "a.conf").unlink()
        directory.rmdir()
        client.change(uri, "Optoins None\nListen 80\n")
        await client.found(uri)
        await ask_everything(client, uri, types.Position(0, 3))
        client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        client.change(uri, "Optoins None\n")
        assert [one.code for one in await client.found(uri)] == ["SYNTAX"]
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await ask_everything(client, uri, types.Position(0, 3))

    run(work)


@pytest.mark.parametrize(
    "text",
    [
        "Redirect " + "x" * LONG,
        "# é" * (LONG // 4),
        "\x7fELF\0\1\2" * 9999,
        "<If x>\n" * 1500,
        "\0\ufffd\n" * 999,
    ],
    ids=["long line", "long comment", "binary", "deep", "zero bytes"],
)
def test_texts_that_are_none_are_answered(tmp_path: Path, run: Callable[[Work], None], text: str) -> None:
    async def work(client: Editor) -> None:
        uri = client.open(tmp_path / "a.conf", text)
        await ask_everything(client, uri, types.Position(0, 9))
        assert len(await client.found(uri)) <= MAX_DIAGNOSTICS
        await ask_everything(client, uri, types.Position(500, 2))

    run(work)


def test_every_feature_answers_over_real_files(run: Callable[[Work], None]) -> None:
    trees = LARGER_SET / "trees"  # a file of a whole server costs a check of all of it
    texts = [path for path in files() if path.stat().st_size <= MAX_SIZE and not path.is_relative_to(trees)]
    if len(texts) < MIN_FILES:
        pytest.skip(f"only {len(texts)} configurations here: the larger set is not present")
    chosen = texts[:: max(1, len(texts) // MIN_FILES)]
    assert len(chosen) >= MIN_FILES

    async def work(client: Editor) -> None:
        opened = {}
        for path in chosen:
            text = path.read_text(encoding="utf-8", errors="replace")
            opened[client.open(path, text)] = text
        for uri, text in opened.items():
            await client.found(uri)
            await ask_everything(client, uri, types.Position(text.count("\n") // 3, 9))
            half = text[: len(text) // 2]
            client.change(uri, half)
            await ask_everything(client, uri, types.Position(half.count("\n"), 5))
            item = types.TextDocumentIdentifier(uri)
            client.text_document_did_close(types.DidCloseTextDocumentParams(item))

    run(work)


def test_the_main_file_of_the_settings_decides(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "other.conf").write_text(f"Listen 80\nInclude {tmp_path}/parts/*.conf\n")
    part = tmp_path / "parts/a.conf"
    part.write_text("AllowOverride None\n")

    async def session() -> None:
        async with editor(tmp_path) as client:
            uri = client.open(part)
            before = [one.message for one in await client.found(uri)]
            client.diagnostics.clear()
            settings = {"whimbrel": {"mainFile": "other.conf"}}
            client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
            after = [one.message for one in await client.found(uri)]
            assert before == []
            assert any("AllowOverride not allowed here" in message for message in after)

    asyncio.run(session())


@pytest.mark.parametrize(
    ("encodings", "chosen", "column"),
    some([(["utf-8"], "utf-8", 7), (["utf-32"], "utf-32", 4)], 1),
)
def test_the_encoding_of_positions_is_negotiated(
    tmp_path: Path, encodings: list[str], chosen: str, column: int
) -> None:
    async def session() -> None:
        client = Editor()
        await client.start_io(sys.executable, "-c", START, "lsp")
        result = await client.begin(None, encodings)
        assert result.capabilities.position_encoding == chosen
        uri = client.open(tmp_path / "a.conf", "Use '\U0001f600' ${X}\nOptoins '\U0001f600'\n")
        found = [one for one in await client.found(uri) if one.code == "SYNTAX"]
        assert [one.range.end.character for one in found] == [len("Optoins ''") + column - 3]
        await client.end()
        await client.stop()

    asyncio.run(session())


@pytest.mark.parametrize(
    "sent",
    some([b"", b"garbage\r\n\r\n", b"Content-Length: 2\r\n\r\n{}", b"Content-Length: 9\r\n\r\n{"], 2),
)
def test_a_connection_that_breaks_ends_the_server(sent: bytes) -> None:
    """The protocol: the exit code is 1 without a request to shut down."""
    done = subprocess.run(
        [sys.executable, "-c", START, "lsp"], input=sent, capture_output=True, timeout=SECONDS
    )
    assert done.returncode == 1
