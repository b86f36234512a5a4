"""The documentation site: its pages and navigation, and what `make docs` refuses."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tools.command_texts import command_texts
from tools.documentation.check_site import faults
from tools.documentation.documents import ROOT, document_pages, navigation, pages, sections
from tools.documentation.markdown import converted

from whimbrel.catalogue import catalogue
from whimbrel.catalogue.load import VERSIONS
from whimbrel.upgrade.rules import all_rules

PARTS: Final = ["Start", "Upgrade", "How to", "Serve", "Automate", "Internals"]
PAGE: Final = '<html><head>{head}</head><body><h1 id="top">x</h1>{body}</body></html>'


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Return the text of every page."""
    pytest.importorskip("pygls", reason="no pygls here: directives have the texts of hover")
    from tools.documentation.__main__ import site_pages

    found = list(site_pages())
    assert len(dict(found)) == len(found), "two pages of one name"
    return dict(found)


def test_every_rule_has_a_page(texts: dict[str, str]) -> None:
    for rule in all_rules():
        text = texts[f"rules/{rule.number.lower()}.md"]
        assert text.startswith(f"# {rule.number} "), rule.number
        assert "## What changes" in text and re.search(r'^`{3,}apache title="2\.2["(,]', text, re.M), (
            rule.number
        )
        assert re.search(r"Risk of what it finds \| \w", text), rule.number
        assert f"[{rule.number}]({rule.number.lower()}.md)" in texts["rules/index.md"]
    assert 'apache title="2.4"\n<Directory "/srv/site/htdocs">' in texts["rules/c17.md"]
    assert 'title="2.2, htdocs/.htaccess"\n' in texts["rules/x22.md"]


def test_every_directive_of_both_versions_has_a_page(texts: dict[str, str]) -> None:
    names = {row.name for version in VERSIONS for row in catalogue(version)}
    found = {path for path in texts if path.startswith("directives/") and not path.endswith("/index.md")}
    assert len(found) == len({name.lower() for name in names}) > 700
    for name in ("Order", "<Directory", "SSLProtocol", "DefaultType", "MDomain"):
        page = f"directives/{name.lower().lstrip('<')}{'-section' if name[0] == '<' else ''}.md"
        assert "* Syntax: `" in texts[page] and "* Module: " in texts[page], name
    assert "[C17](../rules/c17.md)" in texts["directives/order.md"]
    assert "There is no such directive." in texts["directives/mutex.md"]
    assert "without a further effect: how httpd sends files" in texts["directives/enablesendfile.md"]
    assert "no behaviour for it in 2.4" in texts["directives/sslsrpverifierfile.md"]


def test_every_command_has_a_page_with_its_exit_codes(texts: dict[str, str]) -> None:
    for command in command_texts():
        text = texts[f"commands/{command.name}.md"]
        for _title, records in command.records:
            assert all(f"`{term}`" in text for term, _description in records), command.name
        for code, meaning in command.exit_codes().items():
            assert f"{code}  {meaning}" in text
            assert meaning.replace("<", "&lt;") in texts["exit-codes.md"]
    assert "| [`check`](commands/check.md) |" in texts["exit-codes.md"]


def test_the_navigation_has_every_document_once(texts: dict[str, str]) -> None:
    linked = re.findall(r"\((\S+\.md)\)$", texts["SUMMARY.md"], re.M)
    own = {page for page in pages().values() if page.endswith(".md") and not page.startswith("rules/")}
    assert sorted(set(linked)) == sorted(linked)
    assert own - set(linked) <= {"code-of-conduct.md"}
    assert {"rules/index.md", "directives/index.md", "commands/index.md", "exit-codes.md"} <= set(linked)


def test_the_parts_of_the_navigation_are_those_of_the_index() -> None:
    assert [title for title, _documents in sections()] == PARTS
    titles = re.findall(r"^\* (.+)$", navigation({"Reference": []}), re.M)
    assert titles == ["[Whimbrel](index.md)", *PARTS[:-1], "Reference", PARTS[-1]]


def test_links_between_documents_lead_to_pages() -> None:
    found = dict(document_pages())
    assert "(ten-minutes.md)" in found["index.md"] and "(report-upgrade.png)" in found["index.md"]
    assert "[Editors](editor-settings.md)" in found["editors.md"]
    assert "[TLS](tls.md)" in found["differences.md"]
    assert "([Layouts and builds](layouts.md))" in found["drop-in.md"]
    assert not [name for name, text in found.items() if re.search(r"\]\(\.\./", text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <If> section", "a &lt;If> section"),
        ("`<If>` and <http://localhost/>", "`<If>` and <http://localhost/>"),
        ("| `a\\|b` | c\\|d |", "| `a|b` | c\\|d |"),
        ("text:\n* one\n* two", "text:\n\n* one\n* two"),
        ("* one\n  more\n* two", "\n* one\n  more\n* two"),
        ("    <Code>", "    <Code>"),
        ("```apache conf/a.conf\n<If>\n```", '\n```apache title="conf/a.conf"\n<If>\n```'),
        ('```a title="b"\nc\n```', '\n```a title="b"\nc\n```'),
        ("```console until Ctrl-C\n$ a\n```", "\n```{ .console .no-copy }\n$ a\n```"),
        ("see docs/a.md, `docs/b.md`", "see [/docs/a.md](page//docs/a.md), `docs/b.md`"),
        ("[a](docs/b.md) (docs/c.md)", "[a](page/docs/b.md) ([/docs/c.md](page//docs/c.md))"),
        ("[a](b.md) [c](http://x/) [d](#e)", "[a](page/b.md) [c](http://x/) [d](#e)"),
    ],
)
def test_markdown_of_the_site(text: str, expected: str) -> None:
    assert converted(text, lambda label, target: (label, f"page/{target}")) == expected + "\n"


@pytest.mark.parametrize(
    ("head", "body", "fault"),
    [
        ('<link rel="stylesheet" href="b.css">', '<a href="https://example.org/">a link is no fault</a>', ""),
        ('<link rel="preconnect" href="https://fonts.example">', "", "https://fonts.example is loaded"),
        ("", '<img src="//cdn.example/a.png">', "//cdn.example/a.png is loaded"),
        ("", '<img srcset="b.css 1x, http://cdn.example/a.png 2x">', "http://cdn.example/a.png is loaded"),
        ("", '<p style="background: url(https://cdn.example/a)">', "https://cdn.example/a is loaded"),
        ("<style>@import 'https://cdn.example/a.css';</style>", "", "https://cdn.example/a.css is loaded"),
        ('<script src="https://cdn.example/a.js"></script>', "", "https://cdn.example/a.js is loaded"),
        ("", '<pre class="mermaid">x</pre>', "class mermaid"),
        ("", '<a href="absent.html">x</a>', "no file for absent.html"),
        ("", '<img src="absent.png">', "no file for absent.png"),
        ("", '<a href="#absent">x</a>', "no place #absent"),
        ("", '<a href="a.html#top">x</a>', ""),
    ],
)
def test_faults_of_built_pages(head: str, body: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE.format(head=head, body=body))
    (tmp_path / "b.css").write_text("p { background: url(data:image/png;base64,AA) }")
    found = list(faults(tmp_path))
    assert (fault in found[0] and len(found) == 1) if fault else found == []


def test_style_sheets_and_drawings_that_load_are_faults(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example/a.woff2') }")
    (tmp_path / "b.svg").write_text('<svg><image href="https://cdn.example/b.png"/></svg>')
    assert list(faults(tmp_path)) == [
        "a.css: https://fonts.example/a.woff2 is loaded from another host",
        "b.svg: https://cdn.example/b.png is loaded from another host",
    ]


@pytest.mark.parametrize(
    ("link", "message"),
    [("page.md#more", ""), ("absent.md", "page does not exist"), ("page.md#absent", "anchor does not exist")],
)
def test_the_build_is_strict(link: str, message: str, tmp_path: Path) -> None:
    """The settings of the repository with two pages: a link that leads nowhere ends the build."""
    pytest.importorskip("zensical", reason="no zensical here: no site is built")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    docs = tmp_path / "build/docs"
    docs.mkdir(parents=True)
    (docs / "index.md").write_text(f"# Home\n\n[a page]({link})\n")
    (docs / "page.md").write_text("# Page\n\n## More\n\n| a |\n|---|\n| `b` |\n")
    (docs / "SUMMARY.md").write_text("* [Home](index.md)\n* Part\n    * [Page](page.md)\n")
    words = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    built = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (built.returncode != 0) is bool(message), built.stderr
    assert message in built.stderr
    if not message:
        page = (tmp_path / "build/site/page.html").read_text()
        assert "<td><code>b</code></td>" in page and not (tmp_path / "build/site/SUMMARY.html").exists()
        assert list(faults(tmp_path / "build/site")) == []
