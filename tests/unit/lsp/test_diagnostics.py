"""Wrong files in an editor: a diagnostic at the line that is wrong, and no failure."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.wrong_files import KINDS, site

pytest.importorskip("lsprotocol", reason="the extra lsp is not installed")

from lsprotocol.types import Diagnostic

from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.session import EditorSession


@pytest.mark.parametrize("place", ["main", "htaccess"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_line_has_a_diagnostic(tmp_path: Path, kind: str, place: str) -> None:
    wrong = site(tmp_path, kind, place)
    before = wrong.wrong.read_bytes()
    published: list[Diagnostic] = []

    async def session() -> None:
        arrived = asyncio.Event()

        def publish(_document: TextDocument, found: list[Diagnostic]) -> None:
            published.extend(found)
            arrived.set()

        editor = EditorSession(publish, pause=0.01)
        editor.documents.open(wrong.wrong.as_uri(), before.decode("utf-8", "replace"), 1)
        editor.checks.schedule(str(wrong.wrong))
        await asyncio.wait_for(arrived.wait(), 30)
        editor.checks.stop()

    asyncio.run(session())
    assert wrong.line - 1 in {one.range.start.line for one in published}, published
    assert "not checked" not in " ".join(one.message for one in published)
    assert wrong.wrong.read_bytes() == before
