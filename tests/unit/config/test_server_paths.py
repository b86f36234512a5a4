"""Servers below a directory."""

from __future__ import annotations

from pathlib import Path

from whimbrel.config.server_paths import server_paths

TEXT = "ServerRoot /etc/httpd\nListen 80\nDocumentRoot /var/www\n"


def written(file: Path) -> Path:
    """Write a main file; return the directory of the server."""
    file.parent.mkdir(parents=True)
    file.write_text(TEXT)
    return file.parent.parent


def test_servers_below_a_directory(tmp_path: Path) -> None:
    first = written(tmp_path / "a/httpd/conf/httpd.conf")
    second = written(tmp_path / "b/conf/httpd.conf")
    assert server_paths([tmp_path]) == ([first, second], [])
    (tmp_path / "more.conf").write_text("Listen 81\n")
    assert server_paths([tmp_path]) == ([], [tmp_path])
