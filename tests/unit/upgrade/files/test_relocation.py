"""The texts of a copied configuration name the copy, and documents where they are."""

from __future__ import annotations

import os

import pytest

from whimbrel.syntax.lines import V22_LINES
from whimbrel.syntax.tree import parse
from whimbrel.upgrade.files.relocation import Relocation, roots_of

COPIED = frozenset(("/srv/conf/users", "/srv/conf/c.pem", "/srv/conf/map.txt"))


def _relocated(move: Relocation, text: bytes) -> bytes:
    return move.relocated(parse(text, V22_LINES))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('ServerRoot "/srv"', 'ServerRoot "/new/out"'),
        ('ServerRoot "/srv/"', 'ServerRoot "/new/out"'),
        ("Include /srv/conf.d/*.conf", "Include /new/out/conf.d/*.conf"),
        ("Include /etc/other/*.conf", "Include /etc/other/*.conf"),
        ("AuthUserFile /srv/conf/users", "AuthUserFile /new/out/conf/users"),
        ("AuthUserFile /srv/conf/not-here", "AuthUserFile /srv/conf/not-here"),
        ("AuthUserFile conf/users", "AuthUserFile conf/users"),
        ("RewriteMap m txt:/srv/conf/map.txt", "RewriteMap m txt:/new/out/conf/map.txt"),
        ("CustomLog /srv/logs/access_log common", "CustomLog /new/out/logs/access_log common"),
        ('ErrorLog "|/srv/bin/rotatelogs /srv/logs/x 1"', 'ErrorLog "|/srv/bin/rotatelogs /srv/logs/x 1"'),
        ("CacheLockPath /srv/run/lock", "CacheLockPath /new/out/run/lock"),
        ("SSLSessionCache shmcb:/srv/run/cache(512000)", "SSLSessionCache shmcb:/new/out/run/cache(512000)"),
        ("Mutex file:/srv/run default", "Mutex file:/new/out/run default"),
        ("DocumentRoot htdocs", "DocumentRoot /srv/htdocs"),
        ('DocumentRoot "/srv/htdocs"', 'DocumentRoot "/srv/htdocs"'),
        ("Alias /srv icons/", "Alias /srv /srv/icons/"),
        ("# ServerRoot /srv", "# ServerRoot /srv"),
        # paths with ..: where they lead decides
        ("CustomLog /srv/../logs/x common", "CustomLog /srv/../logs/x common"),
        ("CustomLog /srv/conf/../logs/x common", "CustomLog /new/out/logs/x common"),
        ("ErrorLog ../logs/x", "ErrorLog /logs/x"),
        ("ErrorLog conf/../logs/x", "ErrorLog conf/../logs/x"),
        ("Include /srv/../other/*.conf", "Include /srv/../other/*.conf"),
        ("Include ../other/*.conf", "Include /other/*.conf"),
        ("LoadModule a_module ../modules/a.so", "LoadModule a_module /modules/a.so"),
        ("TypesConfig ../types", "TypesConfig /types"),
        ("RewriteMap m txt:../map.txt", "RewriteMap m txt:/map.txt"),
        ("AuthUserFile /srv/x/../conf/users", "AuthUserFile /new/out/conf/users"),
        ("RewriteRule ^/a ../b", "RewriteRule ^/a ../b"),
    ],
)
def test_lines(line: str, expected: str) -> None:
    move = Relocation(("/srv",), "/new/out", COPIED)
    assert _relocated(move, f"Listen 80\n{line}\nListen 81\n".encode()).decode() == (
        f"Listen 80\n{expected}\nListen 81\n"
    )
    names = (*move.written, *move.linked)
    assert all(os.path.abspath(f"/new/out/{name}").startswith("/new/out") for name in names)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('Include "${TOP}/conf.d/*.conf"', 'Include "/new/out/conf.d/*.conf"'),
        ("AuthUserFile ${TOP}/conf/users", "AuthUserFile /new/out/conf/users"),
        ("ErrorLog ${TOP}/logs/x", "ErrorLog /new/out/logs/x"),
        ("Include ${UNKNOWN}/conf.d/*.conf", "Include ${UNKNOWN}/conf.d/*.conf"),
        ("Include ${ELSEWHERE}/*.conf", "Include ${ELSEWHERE}/*.conf"),
        ("DocumentRoot ${TOP}/htdocs", "DocumentRoot ${TOP}/htdocs"),
    ],
)
def test_paths_by_variables_are_those_of_the_copy(line: str, expected: str) -> None:
    """A variable that leads into the tree would have the copy's server read the files of the original."""
    values = {"TOP": "/srv", "ELSEWHERE": "/etc/other"}
    move = Relocation(("/srv",), "/new/out", COPIED, values)
    assert _relocated(move, f"{line}\n".encode()).decode() == f"{expected}\n"


def test_a_text_that_names_another_root() -> None:
    text = b"ServerRoot /etc/httpd\nAuthUserFile /etc/httpd/conf/users\nInclude /etc/httpd/x.conf\n"
    move = Relocation(roots_of("/srv", [text]), "/new", COPIED)
    assert _relocated(move, text) == b"ServerRoot /new\nAuthUserFile /new/conf/users\nInclude /new/x.conf\n"


@pytest.mark.parametrize(
    ("text", "root"),
    [
        (b"SERVERROOT /etc/httpd/\n", "/etc/httpd"),
        (b"Server\\\nRoot /etc/httpd\n", "/etc/httpd"),
        (b"Server\\\r\nRoot \\\n/etc/httpd\n", "/etc/httpd"),
        (b"Listen \\\n80\n", None),
        (b"Listen 80\n", None),
    ],
)
def test_the_root_of_a_text_is_found_in_joined_lines(text: bytes, root: str | None) -> None:
    assert roots_of("/srv/", [b"Listen 81\n", text]) == tuple(filter(None, ("/srv", root)))


def test_what_the_server_writes_and_loads_is_noted() -> None:
    move = Relocation(("/srv",), "/new", COPIED)
    _relocated(
        move,
        b"PidFile run/pid\nErrorLog /srv/logs/e\nCustomLog /var/log/x c\nErrorLog syslog:local1\n"
        b"LoadModule a_module modules/a.so\nLoadModule b_module /usr/lib/b.so\n",
    )
    assert (move.written, move.linked) == ({"run", "logs"}, {"modules"})


def test_a_directory_with_blanks_is_quoted() -> None:
    move = Relocation(("/srv",), "/new out", COPIED)
    assert _relocated(move, b"ServerRoot /srv\n") == b'ServerRoot "/new out"\n'


@pytest.mark.parametrize(
    "line",
    ['ServerRoot "C:/Apache2"', 'DocumentRoot "Z:/home/www"', 'Alias /x "C:\\\\x"', 'ScriptAlias /c "d:/c"'],
)
def test_paths_of_windows_stay(line: str) -> None:
    move = Relocation(("/srv",), "/new", COPIED)
    assert _relocated(move, f"{line}\n".encode()) == f"{line}\n".encode()
