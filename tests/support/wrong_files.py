"""Kinds of files that are no configuration, or a damaged one, and a server that has one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MODULES = ("mpm_event", "authz_core", "authz_host", "access_compat", "dir", "alias", "mime")
ACCESS = b"Order allow,deny\nDeny from all\nAllow from 10.0.0.1\n"
NGINX = b"""user www-data;
worker_processes auto;
events {
    worker_connections 768;
}
http {
    server {
        listen 80;
        location / {
            allow 10.0.0.0/8;
            deny all;
        }
        include sites/*;
    }
}
"""


class Wrong(NamedTuple):
    """A kind of wrong file: how it is made of a right one, and what must be printed about it.

    Attributes:
        made: the wrong text, of a right one.
        said: the sentence without path and line.
        line: the line, counted from the first line behind the right text if it is negative.
        remedy: a part of the advice.
        is_editable: other lines of the file may be upgraded.
    """

    made: Callable[[bytes], bytes]
    said: str
    line: int
    remedy: str
    is_editable: bool = False


KINDS = {
    "elf": Wrong(lambda text: b"\x7fELF\x02\x01\x01" + bytes(90), "the file is binary", 1, "give a text"),
    "utf-16": Wrong(
        lambda text: b"\xff\xfe" + text.decode().encode("utf-16-le"), "the text is UTF-16", 1, "iconv"
    ),
    "bom": Wrong(lambda text: b"\xef\xbb\xbf" + text, "begins with a byte order mark", 1, "remove the first"),
    "nul": Wrong(lambda text: text + b"Option\0s None\n", "a NUL byte", -1, "remove the NUL"),
    "erb": Wrong(
        lambda text: text + b"<% if @allow %>\nOptions None\n<% end %>\n",
        "template",
        -1,
        "is written from",
        is_editable=True,
    ),
    "j2": Wrong(lambda text: text + b"Options {{ options }}\n", "template", -1, "is written from", True),
    "tpl": Wrong(lambda text: text + b"Options @OPTIONS@\n", "template", -1, "is written from", True),
    "nginx": Wrong(lambda text: NGINX, "no configuration of httpd", 1, "give a configuration"),
    "unclosed": Wrong(
        lambda text: text + b'<Files "x">\nOptions None\n', "<Files> is not closed", -1, "write </Files>"
    ),
    "misspelled": Wrong(
        lambda text: text + b"DirectryIndex x\n", "DirectryIndex", -1, "write DirectoryIndex"
    ),
}
PLACES = ("main", "include", "htaccess", "fragment")


class Site(NamedTuple):
    """A server with one wrong file; *main* is what the commands get."""

    root: Path
    main: Path
    wrong: Path
    line: int


def site(root: Path, kind: str, place: str) -> Site:
    for name in ("htdocs", "conf", "logs"):
        (root / name).mkdir(parents=True)
    (root / "conf/mime.types").write_text("text/html html\n")
    (root / "htdocs/index.html").write_text("x")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES)
    head = (
        f'ServerRoot "{root}"\n{loads}ServerName www.example.com\nListen 127.0.0.1:18999\n'
        f'DocumentRoot "{root}/htdocs"\n<Directory "{root}/htdocs">\nAllowOverride All\n</Directory>\n'
    ).encode()
    section = b'<Directory "%b/htdocs">\n%b</Directory>\n' % (bytes(root), ACCESS)
    right = {"main": head + section, "htaccess": ACCESS}.get(place, section)
    main = root / "conf/httpd.conf"
    main.write_bytes(head)
    wrong = {
        "main": main,
        "include": root / "conf/extra.conf",
        "htaccess": root / "htdocs/.htaccess",
        "fragment": root / "conf/site.conf",
    }[place]
    if place == "include":
        main.write_bytes(head + b"Include conf/extra.conf\n")
    wrong.write_bytes(KINDS[kind].made(right))
    line = KINDS[kind].line
    line = line if line > 0 else right.count(b"\n") - line
    return Site(root, wrong if place == "fragment" else main, wrong, line)
