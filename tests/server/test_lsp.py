"""`whimbrel lsp` over its standard streams, with pygls' client as the editor: every feature."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types
from tests.support.editor import Editor, Work, running_editor

OLD = """\
<Directory "/srv">
    MaxClients 150
</Directory>
MaxClients 150
"""


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Work], None]]:
    """Return a runner of work with one server, which has no folder of a workspace."""
    with running_editor() as run_work:
        yield run_work


def test_diagnostics_come_from_reading_and_from_the_check(
    tmp_path: Path, run: Callable[[Work], None]
) -> None:
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

    run(work)


SITE = """\
ServerRoot "{root}"
Listen 8099
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule dir_module modules/mod_dir.so
LoadModule alias_module modules/mod_alias.so
LoadModule macro_module modules/mod_macro.so
LoadModule unixd_module modules/mod_unixd.so
Define DOCROOT {root}/htdocs
DocumentRoot "${{DOCROOT}}"
<Macro Host $name>
    <VirtualHost *:8099>
        ServerName $name
    </VirtualHost>
</Macro>
Use Host www.example.com
Include conf/extra/*.conf
"""
EXTRA = """\
# one
# two
<VirtualHost *:8099>
    ServerName shop.example.com
    redirect 301 /old /new
    <Directory "${DOCROOT}">
        Opt
    </Directory>
</VirtualHost>
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return the root of a server with a main file and an included one."""
    for name in ("conf/extra", "htdocs/images", "logs"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "conf/httpd.conf").write_text(SITE.format(root=tmp_path))
    (tmp_path / "conf/extra/shop.conf").write_text(EXTRA)
    return tmp_path


def position(text: str, words: str, behind: bool = True) -> types.Position:
    """Return the place behind the first occurrence of *words*, or in front of it."""
    at = text.index(words) + (len(words) if behind else 0)
    line = text.count("\n", 0, at)
    return types.Position(line, at - text.rfind("\n", 0, at) - 1)


async def labels(client: Editor, uri: str, place: types.Position) -> list[str]:
    """Return what is proposed at a place."""
    found = await client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(uri), place)
    )
    assert isinstance(found, types.CompletionList)
    return [item.label for item in sorted(found.items, key=lambda item: item.sort_text or "")]


async def locations(client: Editor, uri: str, place: types.Position) -> list[tuple[str, int]]:
    """Return file name and line of the definitions of what stands at a place."""
    found = await client.text_document_definition_async(
        types.DefinitionParams(types.TextDocumentIdentifier(uri), place)
    )
    assert isinstance(found, list)
    places = [one for one in found if isinstance(one, types.Location)]
    return [(one.uri.rpartition("/")[2], one.range.start.line) for one in places]


def test_completion_follows_the_place(site: Path, run: Callable[[Work], None]) -> None:
    path = site / "conf/extra/shop.conf"

    async def work(client: Editor) -> None:
        uri = client.open(path)
        await client.found(uri)
        names = await labels(client, uri, position(EXTRA, "        Opt"))
        assert names == ["Options"]
        for text, wanted, unwanted in (
            ("<Directory /x>\n", "AllowOverride", "Listen"),
            ("<Directory /x>\n    O", "Order", "DocumentRoot"),
            ("<VirtualHost *>\n    Doc", "DocumentRoot", "DirectoryIndex"),
            ("<Files x>\n</", "</Files>", "Files"),
            ("<Dir", "<Directory", "Dir"),
            ("KeepAlive ", "Off", "Email"),
            ("Options +Foll", "FollowSymLinks", "Indexes"),
            ("LoadModule prox", "proxy_module", "rewrite_module"),
            ("<IfModule mod_rew", "mod_rewrite.c", "mod_alias.c"),
            ("DocumentRoot ${", "DOCROOT", "HOME"),
            ("Use h", "Host", "Other"),
            ('DocumentRoot "htd', "htdocs/", "conf/"),
            ("Include conf/e", "extra/", "httpd.conf"),
            ("SetHandler serv", "server-status", "cgi-script"),
        ):
            client.change(uri, text)
            lines = text.split("\n")
            place = types.Position(len(lines) - 1, len(lines[-1]))
            end = monotonic() + 60
            found = await labels(client, uri, place)
            while wanted not in found and monotonic() < end:  # names of the site come when it has been read
                await asyncio.sleep(0.1)
                found = await labels(client, uri, place)
            assert wanted in found, (text, found)
            assert unwanted not in found, (text, found)

    run(work)


def test_definitions_lead_to_files_variables_and_macros(site: Path, run: Callable[[Work], None]) -> None:
    async def work(client: Editor) -> None:
        main = client.open(site / "conf/httpd.conf")
        extra = client.open(site / "conf/extra/shop.conf")
        await client.found(main)
        text = SITE.format(root=site)
        assert await locations(client, main, position(text, "conf/extra/*")) == [("shop.conf", 0)]
        assert await locations(client, main, position(text, "Use Ho")) == [("httpd.conf", 10)]
        assert await locations(client, extra, position(EXTRA, "${DOC")) == [("httpd.conf", 8)]
        assert await locations(client, extra, position(EXTRA, "Redi".lower())) == []

    run(work)


def test_hover_describes_directives_modules_and_variables(site: Path, run: Callable[[Work], None]) -> None:
    async def work(client: Editor) -> None:
        main = client.open(site / "conf/httpd.conf")
        extra = client.open(site / "conf/extra/shop.conf")
        await client.found(main)
        text = SITE.format(root=site)

        async def shown(uri: str, place: types.Position) -> str:
            params = types.HoverParams(types.TextDocumentIdentifier(uri), place)
            found = await client.text_document_hover_async(params)
            assert found is not None and isinstance(found.contents, types.MarkupContent)
            return found.contents.value

        listen = await shown(main, position(text, "List"))
        assert "**Listen**" in listen and "server config" in listen and "mpm_common.c"[:3] in listen
        assert "# mod_alias" in await shown(main, position(text, "LoadModule alias_"))
        assert f"`{site}/htdocs`" in await shown(extra, position(EXTRA, "${DOC"))
        assert "Include" in await shown(main, position(text, "\nIncl"))
        assert "$name" in await shown(main, position(text, "Use Ho"))

    run(work)


def test_symbols_and_folding_show_the_sections(site: Path, run: Callable[[Work], None]) -> None:
    async def work(client: Editor) -> None:
        uri = client.open(site / "conf/extra/shop.conf")
        item = types.TextDocumentIdentifier(uri)
        found = await client.text_document_document_symbol_async(types.DocumentSymbolParams(item))
        assert found is not None
        host = found[0]
        assert isinstance(host, types.DocumentSymbol) and host.children is not None
        assert (host.name, host.detail) == ("<VirtualHost *:8099>", "shop.example.com")
        assert [one.name for one in host.children] == ['<Directory "${DOCROOT}">']
        assert host.range == types.Range(types.Position(2, 0), types.Position(8, 14))
        ranges = await client.text_document_folding_range_async(types.FoldingRangeParams(item))
        assert ranges is not None
        assert {(one.start_line, one.end_line) for one in ranges} == {(0, 1), (2, 7), (5, 6)}

    run(work)


def applied(text: str, edits: list[types.TextEdit]) -> str:
    """Return a text of ASCII with edits applied."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    starts = {(one.range.start.line, one.range.start.character): one for one in edits}
    for _, edit in sorted(starts.items(), reverse=True):
        start = lines[edit.range.start.line] + edit.range.start.character
        end = lines[edit.range.end.line] + edit.range.end.character
        text = text[:start] + edit.new_text + text[end:]
    return text


def test_formatting_is_that_of_fmt(site: Path, run: Callable[[Work], None]) -> None:
    text = "<directory />\noptions none\n</directory>\n\n\n\nlisten 80\n"

    async def work(client: Editor) -> None:
        uri = client.open(site / "conf/extra/shop.conf", text)
        options = types.FormattingOptions(2, True)
        params = types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), options)
        edits = await client.text_document_formatting_async(params)
        wanted = "<Directory />\n  Options none\n</Directory>\n\nListen 80\n"
        assert applied(text, list(edits or [])) == wanted

    run(work)


def test_quick_fixes_are_the_edits_of_the_rules(tmp_path: Path, run: Callable[[Work], None]) -> None:
    path = tmp_path / "old.conf"
    path.write_text(
        "MaxClients 150\n<IfModule a.c>\n    MaxRequestsPerChild 4\n</IfModule>\nMaxRequestsPerChild 5\n"
    )

    async def work(client: Editor) -> None:
        uri = client.open(path)
        await client.found(uri)

        async def fixes(line: int) -> dict[str, str]:
            place = types.Range(types.Position(line, 0), types.Position(line, 0))
            params = types.CodeActionParams(
                types.TextDocumentIdentifier(uri), place, types.CodeActionContext([])
            )
            found = await client.text_document_code_action_async(params)
            actions = [one for one in found or [] if isinstance(one, types.CodeAction)]
            current = path.read_text()
            return {
                one.title: applied(current, list(one.edit.changes[uri]))
                for one in actions
                if one.edit is not None and one.edit.changes is not None
            }

        found = await fixes(2)
        one, whole, ignored = (
            next(text for title, text in found.items() if title.startswith(beginning))
            for beginning in ("Upgrade to 2.4 (C07", "Upgrade all of C07", "Ignore C07 here")
        )
        old = path.read_text()
        assert one == old.replace("MaxRequestsPerChild 4", "MaxConnectionsPerChild 4")
        assert whole == old.replace("MaxRequestsPerChild", "MaxConnectionsPerChild")
        assert ignored == old.replace("    MaxR", "    # whimbrel: ignore[C07]\n    MaxR")

    run(work)
    path.write_text("Timeuot 3\nListen 80\n")

    async def misspelled(client: Editor) -> None:
        uri = client.open(path)
        await client.found(uri)
        place = types.Range(types.Position(0, 0), types.Position(0, 0))
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, types.CodeActionContext([]))
        found = await client.text_document_code_action_async(params)
        action = (found or [])[0]
        assert isinstance(action, types.CodeAction) and action.edit is not None and action.edit.changes
        assert applied("Timeuot 3\n", list(action.edit.changes[uri])) == "Timeout 3\n"

    run(misspelled)


def test_a_url_is_explained_with_the_texts_of_the_editor(site: Path, run: Callable[[Work], None]) -> None:
    async def work(client: Editor) -> None:
        path = site / "conf/extra/shop.conf"
        uri = client.open(path, EXTRA.replace("        Opt\n", "        Require all granted\n"))
        await client.found(uri)
        url = "http://shop.example.com:8099/old/x"
        params = types.ExecuteCommandParams("whimbrel.explainUrl", [url, uri])
        text = await client.workspace_execute_command_async(params)
        assert isinstance(text, str)
        assert text.startswith("301 Moved Permanently") and "redirect 301 /old /new" in text

    run(work)
