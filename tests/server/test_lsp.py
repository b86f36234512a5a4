"""`whimbrel lsp` over its standard streams, with pygls' client as the editor: every feature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types

from tests.support.editor import Editor, editor

OLD = """\
<Directory "/srv">
    MaxClients 150
</Directory>
MaxClients 150
"""


def with_editor(
    work: Callable[[Editor], Coroutine[None, None, None]], folder: Path | None = None, **options: object
) -> None:
    """Run *work* with a server."""

    async def session() -> None:
        async with editor(folder, **options) as client:
            await work(client)

    asyncio.run(session())


def test_diagnostics_come_from_reading_and_from_the_check(tmp_path: Path) -> None:
    path = tmp_path / "site.conf"
    path.write_text(OLD)

    async def work(client: Editor) -> None:
        uri = client.open(path)
        found = {(one.code, one.range.start.line): one for one in await client.found(uri)}
        misplaced = found["SYNTAX", 1]
        assert misplaced.message == "MaxClients not allowed here"
        assert misplaced.range == types.Range(types.Position(1, 4), types.Position(1, 18))
        assert misplaced.severity is types.DiagnosticSeverity.Error
        old = found["C08", 3]
        assert old.code_description is not None
        assert old.code_description.href.endswith("/C08-max-clients.md")
        client.change(uri, "Timeout 30\n")
        assert await client.found(uri) == []

    with_editor(work, tmp_path)
