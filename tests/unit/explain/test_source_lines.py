"""Lines as they stand in their files."""

from __future__ import annotations

from pathlib import Path

from whimbrel.base.errors import SourceLocation
from whimbrel.config.origins import Origin
from whimbrel.explain.source_lines import SourceLines


def text(path: Path, line: int, directive: str) -> str:
    return SourceLines().text(Origin(SourceLocation(str(path), line), directive))


def test_variables_and_continuations_stand_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_bytes(b"  DocumentRoot   ${TOP}/htdocs\r\nRequire \\\n   all granted\n")
    assert text(file, 1, 'DocumentRoot "/srv/htdocs"') == "DocumentRoot   ${TOP}/htdocs"
    assert text(file, 3, "Require all granted") == "Require \\ all granted"


def test_the_directive_stands_in_for_a_line_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "a.conf"
    file.write_text("Use Site a\n")
    for path, line in ((file, 1), (file, 9), (file, 0), (tmp_path / "none", 1), (tmp_path, 1)):
        assert text(path, line, "ServerName a") == "ServerName a"
    assert text(file, 0, "") == ""


def test_an_edited_file_is_found_by_a_link_to_it(tmp_path: Path) -> None:
    file = tmp_path / "available.conf"
    file.write_text("ServerName old\n")
    link = tmp_path / "enabled.conf"
    link.symlink_to(file)
    sources = SourceLines({str(file): b"ServerName   new\n"})
    for path in (file, link):
        assert sources.text(Origin(SourceLocation(str(path), 1), "ServerName new")) == "ServerName   new"
