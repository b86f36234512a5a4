"""Detection of main files and of their ServerRoot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.config.servers import named_server, server_at, server_of, why_no_server


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


def test_a_copy_of_a_debian_directory_without_its_links_is_a_server(tmp_path: Path) -> None:
    (tmp_path / "apache2.conf").write_text("Include mods-enabled/*.load\nInclude ports.conf\n")
    (tmp_path / "envvars").write_text("export APACHE_LOCK_DIR=/var/lock/apache2\n")
    found = server_at(str(tmp_path))
    assert found is not None and found.root == str(tmp_path)


@pytest.mark.parametrize("line", ["Include {}", 'Include "/etc/apache2/{}"', "IncludeOptional {}/*.conf"])
@pytest.mark.parametrize("name", ["ports.conf", "sites-enabled", "conf.d"])
def test_a_small_debian_tree_is_a_server_by_what_it_includes(line: str, name: str, tmp_path: Path) -> None:
    """No ServerRoot, no envvars, no links to modules: apache2.conf and a file that it reads are there."""
    main = tmp_path / "apache2.conf"
    main.write_text(f"Include mods-enabled/*.load\nUser www-data\n{line.format(name)}\n")
    assert server_at(str(tmp_path)) is None
    (tmp_path / name).mkdir()
    for text in (main.read_text(), main.read_text().partition("\n")[2]):
        main.write_text(text)
        (tmp_path / "httpd.conf").touch()  # Debian's file for users, which may be empty
        found = server_at(str(tmp_path))
        assert found is not None and (found.root, found.path) == (str(tmp_path), str(main))
        assert server_of(str(tmp_path), "").path == str(main)


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


def test_why_there_is_no_server(tmp_path: Path) -> None:
    """The reason that the user can act upon: what is there instead of a main file."""
    path = str(tmp_path)
    main = tmp_path / "httpd.conf"
    assert why_no_server(f"{path}/none") == f"{path}/none: No such file or directory"
    assert why_no_server(path).startswith(f"{path}: no main file of httpd in there, such as conf/httpd.conf")
    main.symlink_to("gone.conf")
    assert why_no_server(path) == f"{main}: a symbolic link that leads nowhere"
    main.unlink()
    main.symlink_to("httpd.conf")
    assert why_no_server(path) == f"{main}: Too many levels of symbolic links"
    main.unlink()
    main.mkdir()
    assert why_no_server(path) == f"{main}: not a regular file"
    main.rmdir()
    main.touch()
    assert server_at(path) is None
    assert why_no_server(path) == (
        f"{main}: nothing in it shows a main file of httpd; give this path to read it as one"
    )
    main.chmod(0)
    if os.getuid() != 0:
        assert why_no_server(path) == f"{main}: Permission denied"


@pytest.mark.parametrize("text", ["ServerRoot /etc/httpd\n", "Include mods-enabled/*.load\n"])
def test_a_copy_is_one_however_it_is_named(text: str, tmp_path: Path) -> None:
    """The root, the main file and both give the server that the path of the copy gives."""
    (tmp_path / "mods-enabled").mkdir()
    main = tmp_path / "apache2.conf"
    main.write_text(text)
    (tmp_path / "envvars").touch()
    found = server_at(str(main), as_server=True)
    assert found is not None
    for root, file in ((str(tmp_path), ""), ("", str(main)), (str(tmp_path), "apache2.conf")):
        server, is_copy = named_server(root, file)
        assert is_copy, (root, file)
        assert (server.root, server.path, server.copied) == (found.root, found.path, found.copied)


def test_the_root_that_is_named_holds_the_copy(tmp_path: Path) -> None:
    main = tmp_path / "conf/deep/main.conf"
    main.parent.mkdir(parents=True)
    main.write_text("ServerRoot /etc/httpd\n")
    server, is_copy = named_server(str(tmp_path), "conf/deep/main.conf")
    assert is_copy and server.root == str(tmp_path)


@pytest.mark.parametrize("declared", ["{root}", "{root}/", "{link}", "", "."])
def test_a_server_in_place_is_no_copy(declared: str, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    conf = tmp_path / "real/conf"
    conf.mkdir(parents=True)
    root, link = tmp_path / "real", tmp_path / "link"
    line = f"ServerRoot {declared.format(root=root, link=link)}\n" if declared else "Listen 80\n"
    (conf / "httpd.conf").write_text(line)
    (tmp_path / "trial.conf").write_text(line)
    for named, file in ((root, ""), (root, "conf/httpd.conf"), (root, f"{tmp_path}/trial.conf")):
        server, is_copy = named_server(str(named), file)
        assert not is_copy and server.root == str(root), (named, file)


@pytest.mark.parametrize("declared", ['"C:/Apache2"', "${SRVROOT}"])
def test_a_root_that_only_its_machine_has_is_that_of_a_copy(declared: str, tmp_path: Path) -> None:
    (tmp_path / "httpd.conf").write_text(f"ServerRoot {declared}\n")
    assert named_server(str(tmp_path), "")[1] and named_server("", f"{tmp_path}/httpd.conf")[1]


@pytest.mark.parametrize(
    ("declared", "place", "expected"),
    [
        ("/srv/site/etc/httpd", "copy/etc/httpd", ("/srv/site", "copy")),
        ("/opt/app/apache", "b/app/apache", ("/opt", "b")),
        ("/srv/site/httpd", "copy/httpd", None),  # one name in common
        ("/srv/copy/site", "site", None),
        ("/etc/httpd", "image/etc/httpd", ("/", "image")),
    ],
)
def test_a_directory_that_was_copied_with_its_server(
    declared: str, place: str, expected: tuple[str, str] | None, tmp_path: Path
) -> None:
    """What stands beside the server in the copy has the paths of the text: `cp -a /srv/site COPY`."""
    root = tmp_path / place
    (root / "conf").mkdir(parents=True)
    (root / "conf/httpd.conf").write_text(f"ServerRoot {declared}\nListen 80\n")
    found = server_at(str(root))
    assert found is not None and found.root == str(root)
    pair = None if expected is None else (expected[0], str(tmp_path / expected[1]))
    inside = [one for one in found.copied if one[0] != declared and f"{declared}/".startswith(one[0])]
    assert [one for one in inside if one != ("/etc/httpd/conf", f"{root}/conf")] == ([pair] if pair else [])
