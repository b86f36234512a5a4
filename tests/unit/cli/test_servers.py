"""Detection of main files and of their ServerRoot."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.cli.servers import server_at


@pytest.mark.parametrize(
    ("name", "text", "whole"),
    [
        ("httpd.conf", "Listen 80\n", True),
        ("httpd.conf", "ServerName a\n", False),
        ("ports.conf", "NameVirtualHost *:80\nListen 80\n", False),
        ("own.conf", "ServerRoot /srv/x\n", True),
        ("own.conf", "# ServerRoot /srv/x\n", False),
        ("php.conf", "LoadModule php5_module x.so\n", False),
        ("apache2.conf", "Include mods-enabled/*.load\n", False),
        ("apache2.conf", "Listen 81\n<VirtualHost *:81>\n</VirtualHost>\n", False),
        (".htaccess", "ServerRoot /srv/x\n", False),
    ],
)
def test_a_file_by_its_content(name: str, text: str, whole: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert (server_at(str(tmp_path / name)) is not None) is whole
    assert server_at(str(tmp_path / name), as_server=True) is not None


def test_a_debian_directory(tmp_path: Path) -> None:
    (tmp_path / "apache2.conf").write_text("Include mods-enabled/*.load\n")
    assert server_at(str(tmp_path)) is None
    (tmp_path / "mods-enabled").mkdir()
    found = server_at(str(tmp_path))
    assert found is not None and found.root == str(tmp_path)


def test_a_directory_called_conf_belongs_to_the_root_above(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    (conf / "conf").mkdir(parents=True)
    (conf / "httpd.conf").write_text("ServerRoot /etc/httpd\nInclude conf/extra.conf\n")
    (conf / "conf/httpd.conf").write_text("ServerRoot /etc/httpd\n")
    found = server_at(str(conf))
    assert found is not None and (found.root, found.file) == (str(tmp_path), f"{conf}/httpd.conf")


def test_the_server_root_of_the_text_counts_where_the_file_lies_in_it(tmp_path: Path) -> None:
    conf = tmp_path / "etc/deep"
    conf.mkdir(parents=True)
    (conf / "main.conf").write_text(f'ServerRoot "{tmp_path}/etc"\n')
    found = server_at(str(conf / "main.conf"))
    assert found is not None and found.root == f"{tmp_path}/etc"
    (conf / "main.conf").write_text(f'ServerRoot "{tmp_path}/elsewhere"\n')
    found = server_at(str(conf / "main.conf"))
    assert found is not None and found.root == str(conf)
