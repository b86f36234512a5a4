"""The server: methods of the protocol, each bound to its feature.  No feature is in here."""

from __future__ import annotations

from functools import partial

from cattrs import Converter
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import default_converter

from whimbrel import __version__
from whimbrel.lsp.checks import PAUSE
from whimbrel.lsp.completion import TRIGGERS, completions
from whimbrel.lsp.definitions import definitions
from whimbrel.lsp.documents import TextDocument, path_of
from whimbrel.lsp.explain_url import COMMAND, explained, texts_of
from whimbrel.lsp.folding import folding_ranges
from whimbrel.lsp.formatting import formatting_edits
from whimbrel.lsp.hover import hover
from whimbrel.lsp.positions import received_position
from whimbrel.lsp.quick_fixes import quick_fixes
from whimbrel.lsp.session import EditorSession
from whimbrel.lsp.symbols import symbols


class WhimbrelServer(LanguageServer):
    """A server for one editor.

    Attributes:
        is_shut_down: the editor has sent the request that must come before the end.
    """

    def __init__(self, *, pause: float = PAUSE) -> None:
        super().__init__(
            "whimbrel",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            converter_factory=_converter,
        )
        self.is_shut_down = False
        self.session = EditorSession(self._publish, pause=pause)

    def _publish(self, document: TextDocument, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(document.uri, found, document.version)
        )

    def directories(self) -> list[str]:
        """Return the URIs of the directories of the workspace."""
        return [entry.uri for entry in self.workspace.folders.values()]


def _converter() -> Converter:
    """Return the converter of messages, which accepts any position."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls has no type there
    converter.register_structure_hook(types.Position, lambda value, _type: received_position(value))
    return converter


def create_server(*, pause: float = PAUSE) -> WhimbrelServer:
    """Return a server that has not started; *pause* is the time without changes before a check."""
    server = WhimbrelServer(pause=pause)
    _add_documents(server)
    _add_reading(server)
    _add_changing(server)
    return server


def _add_documents(server: WhimbrelServer) -> None:
    session = server.session
    settings: list[object] = [{}]

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        settings[0] = params.initialization_options

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        session.documents.encoding = server.server_capabilities.position_encoding or "utf-16"
        session.warm_up()
        session.configure(settings[0], server.directories())

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def changed_settings(params: types.DidChangeConfigurationParams) -> None:
        settings[0] = params.settings
        session.configure(settings[0], server.directories())

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def changed_workspace(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        session.configure(settings[0], server.directories())

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_files(_params: types.DidChangeWatchedFilesParams) -> None:
        session.main_files.forget()
        session.check_all()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        item = params.text_document
        session.checks.schedule(session.documents.open(item.uri, item.text, item.version).path)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        item = params.text_document
        document = session.documents.change(item.uri, params.content_changes, item.version)
        session.checks.schedule(document.path)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        session.main_files.forget()
        session.checks.schedule(session.documents.get(params.text_document.uri).path)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        session.close(params.text_document.uri)

    @server.feature(types.SHUTDOWN)
    def stopped(_params: None) -> None:
        server.is_shut_down = True
        session.checks.stop()


def _add_reading(server: WhimbrelServer) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(params: types.HoverParams) -> types.Hover | None:
        cursor = session.cursor(params.text_document.uri, params.position)
        return hover(cursor, session.checks.result_for(cursor.document.path), session.documents)

    @server.feature(
        types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=list(TRIGGERS))
    )
    def completed(params: types.CompletionParams) -> types.CompletionList:
        cursor = session.cursor(params.text_document.uri, params.position)
        analysis = session.checks.result_for(cursor.document.path)
        return completions(cursor, session.kind_of(cursor.document), analysis, session.documents)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def defined(params: types.DefinitionParams) -> list[types.Location]:
        cursor = session.cursor(params.text_document.uri, params.position)
        return definitions(cursor, session.checks.result_for(cursor.document.path), session.documents)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outlined(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return symbols(session.documents.get(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    def folded(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return folding_ranges(session.documents.get(params.text_document.uri))


def _add_changing(server: WhimbrelServer) -> None:
    session = server.session

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def formatted(params: types.DocumentFormattingParams) -> list[types.TextEdit]:
        document = session.documents.get(params.text_document.uri)
        return await session.checks.run(partial(formatting_edits, document, params.options))

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    async def fixed(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = session.documents.get(params.text_document.uri)
        found = session.published(document)
        analysis = session.checks.result_for(document.path)
        return await session.checks.run(
            partial(quick_fixes, document, found, params.range, analysis, session.documents)
        )

    @server.command(COMMAND)
    async def explain(ls: WhimbrelServer, *values: object) -> str:
        url, uri, dialect = texts_of(values)
        path = path_of(uri) if uri else session.main_files.first_path()
        unit = session.main_files.unit_of(path)
        return await session.checks.run(partial(explained, url, unit, session.documents.overlay(), dialect))
