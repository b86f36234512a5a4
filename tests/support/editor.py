"""An editor for tests of the language server: pygls' client, over the standard streams of `whimbrel lsp`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

SECONDS = 120.0
START = "from whimbrel.cli.entry import main; main()"


class Editor(LanguageClient):
    """A client that keeps the diagnostics of each document, and waits for those of a version."""

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.diagnostics: dict[tuple[str, int | None], list[types.Diagnostic]] = {}
        self.errors: list[str] = []
        self._arrived = asyncio.Event()
        self.versions: dict[str, int] = {}

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.diagnostics[params.uri, params.version] = [*params.diagnostics]
            self._arrived.set()

    def report_server_error(self, error: Exception, source: Any) -> None:
        self.errors.append(f"{source.__name__}: {error}")

    async def begin(
        self, folder: Path | None = None, encodings: list[str] | None = None, **options: object
    ) -> types.InitializeResult:
        """Initialize with a folder of the workspace and initialization options."""
        folders = [types.WorkspaceFolder(folder.as_uri(), folder.name)] if folder is not None else None
        capabilities = types.ClientCapabilities()
        if encodings:
            capabilities.general = types.GeneralClientCapabilities(position_encodings=encodings)
        result = await self.initialize_async(
            types.InitializeParams(capabilities, initialization_options=options, workspace_folders=folders)
        )
        self.initialized(types.InitializedParams())
        return result

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file with its text, or with another one; return its URI."""
        uri = path.as_uri()
        shown = path.read_text(errors="replace") if text is None else text
        self.versions[uri] = self.versions.get(uri, 0) + 1
        item = types.TextDocumentItem(uri, "apacheconf", self.versions[uri], shown)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        """Replace the text of a document."""
        self.versions[uri] += 1
        self.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.versions[uri], uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def found(self, uri: str) -> list[types.Diagnostic]:
        """Return the diagnostics of the current version of a document."""
        key = uri, self.versions[uri]
        async with asyncio.timeout(SECONDS):
            while key not in self.diagnostics:
                self._arrived.clear()
                await self._arrived.wait()
        return self.diagnostics[key]

    async def end(self) -> int | None:
        """Shut the server down; return its exit status."""
        await self.shutdown_async(None)
        self.exit(None)
        assert self._server is not None
        return await asyncio.wait_for(self._server.wait(), SECONDS)


Work = Callable[[Editor], Coroutine[None, None, None]]


@asynccontextmanager
async def editor(
    folder: Path | None = None, encodings: list[str] | None = None, **options: object
) -> AsyncIterator[Editor]:
    """Start a server and initialize it; end it, and require that it ends in order."""
    client = Editor()
    await client.start_io(sys.executable, "-c", START, "lsp")
    try:
        await client.begin(folder, encodings, **options)
        yield client
        assert await client.end() == 0
        assert client.errors == []
    finally:
        server = client._server
        if server is not None and server.returncode is None:
            server.kill()
            await server.wait()
        await client.stop()


@contextmanager
def running_editor() -> Iterator[Callable[[Work], None]]:
    """Yield a runner of work with one server, which has no folder of a workspace."""
    with asyncio.Runner() as runner:
        context = editor()
        client = runner.run(context.__aenter__())
        yield lambda work: runner.run(work(client))
        runner.run(context.__aexit__(None, None, None))


async def ask_everything(client: Editor, uri: str, place: types.Position) -> None:
    """Send every request about a document; an error of the server is raised."""
    item = types.TextDocumentIdentifier(uri)
    here = types.Range(place, place)
    await client.text_document_hover_async(types.HoverParams(item, place))
    await client.text_document_completion_async(types.CompletionParams(item, place))
    await client.text_document_definition_async(types.DefinitionParams(item, place))
    await client.text_document_document_symbol_async(types.DocumentSymbolParams(item))
    await client.text_document_folding_range_async(types.FoldingRangeParams(item))
    options = types.FormattingOptions(4, True)
    await client.text_document_formatting_async(types.DocumentFormattingParams(item, options))
    context = types.CodeActionContext([])
    await client.text_document_code_action_async(types.CodeActionParams(item, here, context))
