"""Servers below a directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.config.server_paths import server_in, server_paths
from whimbrel.upgrade.source.named_sources import ConfigArguments, sources
from whimbrel.utilities.usage_error import UsageError

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


@pytest.mark.parametrize("place", ["", "apache2", "etc/apache2", "backup/etc/apache2", "machine/etc/httpd"])
def test_the_only_server_in_a_directory(tmp_path: Path, place: str) -> None:
    """The server of a tree is found at each depth, the same for a path and for a root."""
    file = tmp_path / place / "conf/httpd.conf"
    written(file)
    found = server_in(str(tmp_path))
    assert found is not None and found.path == str(file)
    for named in (ConfigArguments([tmp_path]), ConfigArguments(root=tmp_path)):
        what, directory = sources(named)
        assert what.options is not None
        assert os.path.join(what.options.server_root, what.options.file) == str(file)
        assert directory == str(tmp_path / place)


def test_of_several_servers_none_is_guessed(tmp_path: Path) -> None:
    """A text that would be written to one of two servers goes to neither."""
    first = written(tmp_path / "a/conf/httpd.conf")
    second = written(tmp_path / "b/conf/httpd.conf")
    assert server_in(str(tmp_path)) is None
    for named in (ConfigArguments([tmp_path]), ConfigArguments(root=tmp_path)):
        with pytest.raises(UsageError) as refused:
            sources(named)
        assert f"{first}, {second}" in refused.value.message
