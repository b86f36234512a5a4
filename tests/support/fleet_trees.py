"""Trees of many servers of our own making: different, equal and broken ones."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

MODULES: Final = (
    "alias auth_basic authn_file authz_host authz_user dir expires headers log_config mime rewrite"
)
MAIN: Final = """\
ServerRoot "/etc/httpd"
Listen 80
User apache
Group apache
{modules}
ServerName {name}.example
DocumentRoot "/etc/httpd/htdocs"
DefaultType text/plain
TypesConfig conf/mime.types
NameVirtualHost *:80
LockFile logs/accept.lock
<Directory />
    AllowOverride None
    Order deny,allow
    Deny from all
</Directory>
<Directory "/etc/httpd/htdocs">
    Options Indexes FollowSymLinks
    AllowOverride All
    Order allow,deny
    Allow from all
</Directory>
Include conf.d/*.conf
"""
HOST: Final = """\
<VirtualHost *:80>
    ServerName {host}
    ServerAlias www.{host} {number}.{host}
    DocumentRoot "/etc/httpd/htdocs/{host}"
    RewriteEngine On
    RewriteLogLevel {level}
    RewriteRule ^/old/(.*)$ /new/$1 [R=301,L]
    <Directory "/etc/httpd/htdocs/{host}">
        Order {order}
        {access}
        AuthType Basic
        AuthName "{host}"
        AuthUserFile conf/users
    </Directory>
    <Location /private-{number}>
        Order deny,allow
        Deny from all
        Allow from 10.{octet}.0.0/16
        Satisfy {satisfy}
        Require valid-user
    </Location>
    Header set X-Host "{host}"
    ExpiresActive On
    ExpiresDefault "access plus {level} days"
</VirtualHost>
"""
BROKEN: Final = ("empty", "directory", "dangling", "binary", "unclosed", "huge")


def write_server(tree: Path, seed: int, files: int = 50, name: str = "web") -> None:
    """Write a server of 2.2 with *files* files; equal seeds give equal trees."""
    numbers = random.Random(seed)
    modules = "\n".join(f"LoadModule {one}_module modules/mod_{one}.so" for one in MODULES.split())
    _write(tree / "conf/httpd.conf", MAIN.format(modules=modules, name=f"{name}-{seed}"))
    _write(tree / "conf/mime.types", "text/html html\ntext/plain txt\n")
    _write(tree / "conf/users", "robin:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n")
    for number in range(max(files - 3, 0)):
        host = f"host{number}.{name}-{seed}.example"
        text = HOST.format(
            host=host,
            number=number,
            level=numbers.randrange(1, 9),
            order=numbers.choice(("allow,deny", "deny,allow", "mutual-failure")),
            access=numbers.choice(
                ("Allow from all", "Deny from 192.0.2.0/24", "Allow from 10.0.0.0/8 .example")
            ),
            octet=numbers.randrange(256),
            satisfy=numbers.choice(("Any", "All")),
        )
        _write(tree / f"conf.d/{number:02}-host.conf", text)


def write_broken(tree: Path, kind: str) -> None:
    """Write one of the trees of BROKEN."""
    tree.mkdir(parents=True)
    main = tree / "conf/httpd.conf"
    if kind == "directory":
        main.mkdir(parents=True)
    elif kind == "dangling":
        main.parent.mkdir()
        main.symlink_to("nowhere")
    elif kind == "binary":
        main.parent.mkdir()
        main.write_bytes(random.Random(7).randbytes(100_000))
    elif kind == "unclosed":
        _write(
            main, "Listen 80\nServerRoot /etc/httpd\n<Directory />\nOrder allow,deny\n<VirtualHost *:80>\n"
        )
    elif kind == "huge":
        _write(main, "Listen 80\nUser apache\n")
        os.truncate(main, 10 << 30)


def write_fleet(base: Path, count: int, files: int = 50) -> None:
    """Write *count* servers: of ten, two are equal to an earlier one; of hundred, one is broken."""
    for number, name in enumerate(_names(count)):
        tree = base / name
        if number % 100 == 50:
            write_broken(tree, BROKEN[number // 100 % len(BROKEN)])
        else:
            write_server(tree, number % 7 if number % 5 == 4 else 1000 + number, files)


def _names(count: int) -> Iterator[str]:
    return (f"web{number:04}" for number in range(count))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
