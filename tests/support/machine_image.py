"""A small image of a machine with httpd 2.2 in Red Hat's places, of our own making.

Its links are those of the machine: absolute ones lead from the image's own ``/``.
"""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

from typer.testing import CliRunner

from whimbrel.cli import check, explain, replay, upgrade, verify

MODULES = (
    "authz_host authz_user authz_groupfile auth_basic authn_file mime dir alias rewrite userdir "
    "autoindex negotiation vhost_alias cgi setenvif"
)
MAIN = """\
ServerRoot "/etc/httpd"
Listen 80
{modules}ServerName www.example.org
TypesConfig /etc/mime.types
ErrorLog logs/error_log
DocumentRoot "/var/www/html"
DirectoryIndex index.html
UserDir public_html
Alias /icons/ "/var/www/icons/"
AliasMatch ^/m/(.*)$ "/srv/media/$1"
ScriptAlias /cgi-bin/ "/var/www/cgi-bin/"
ErrorDocument 404 /gone.html
AddLanguage de .de
NameVirtualHost *:80
<Directory />
    Options FollowSymLinks
    AllowOverride None
    Order deny,allow
    Deny from all
</Directory>
<Directory "/var/www">
    Options Indexes FollowSymLinks MultiViews
    AllowOverride All
    Order allow,deny
    Allow from all
</Directory>
<Directory "/srv">
    Order allow,deny
    Allow from all
</Directory>
<Directory /people/*/public_html>
    AllowOverride Limit
    Order allow,deny
    Allow from all
</Directory>
<Directory "/var/www/html/users">
    AuthType Basic
    AuthName "users"
    AuthUserFile conf/users
    AuthGroupFile /etc/httpd/conf/groups
    Require group staff
</Directory>
<VirtualHost *:80>
    ServerName www.example.org
    DocumentRoot "/var/www/html"
    RewriteEngine On
    RewriteCond %{{REQUEST_FILENAME}} ^/page
    RewriteCond /var/www/html%{{REQUEST_URI}}.html -f
    RewriteRule ^(.*)$ $1.html
</VirtualHost>
Include sites-enabled/*.conf
"""
SHOP = """\
<VirtualHost *:80>
    ServerName shop.example.org
    DocumentRoot "/var/www/shop"
</VirtualHost>
<VirtualHost *:80>
    ServerName mass.example.org
    ServerAlias *.mass.example.org
    VirtualDocumentRoot "/srv/hosts/%1"
</VirtualHost>
"""
HTACCESS = "Order deny,allow\nDeny from all\nAllow from 192.0.2.7\n"
FILES = {
    "etc/httpd/conf/users": "anna:$apr1$gVWGG/bH$wDLvjd8nLMvYDCmGZYwSA/\n",
    "etc/httpd/conf/groups": "staff: anna\n",
    "etc/httpd/sites-available/shop": SHOP,
    "etc/mime.types": "text/html html\ntext/x-image-of-test odd\n",
    "etc/passwd": "robin:x:1001:1001::/people/robin:/bin/sh\n",
    "people/robin/public_html/index.html": "robin\n",
    "srv/hosts/one/index.html": "host one\n",
    "srv/media/a.odd": "odd\n",
    "srv/shop/index.html": "shop\n",
    "srv/shop/closed/.htaccess": HTACCESS,
    "srv/shop/closed/a.html": "closed\n",
    "var/log/httpd/error_log": "",
    "var/www/cgi-bin/there.cgi": "#!/bin/sh\necho\n",
    "var/www/html/closed/.htaccess": HTACCESS,
    "var/www/html/closed/index.html": "closed\n",
    "var/www/html/gone.html": "gone\n",
    "var/www/html/index.html": "index\n",
    "var/www/html/list/a.html": "a\n",
    "var/www/html/page.html": "page\n",
    "var/www/html/users/a.html": "users\n",
    "var/www/html/views/a.html.de": "de\n",
    "var/www/icons/i.gif": "GIF89a",
}
LINKS = {
    "etc/httpd/logs": "/var/log/httpd",
    "etc/httpd/sites-enabled/shop.conf": "/etc/httpd/sites-available/shop",
    "var/www/shop": "/srv/shop",
    "var/www/html/same": "/var/www/html/list",
    "var/www/html/out.html": "/etc/hostname",
    "var/www/html/above.html": "../../../../../../../../../../etc/hostname",
}
URLS = tuple(
    f"http://{host}{path}"
    for host, paths in {
        "www.example.org": (
            "/ /index.html /closed/ /closed/index.html /closed /list/ /list/a.html /list /page /page.html "
            "/users/a.html /views/a /views/b /icons/ /icons/i.gif /icons/x.gif /m/a.odd /m/b.odd /m/ "
            "/~robin/ /~robin/none /~root/ /~nobody/ /same/a.html /same/ /out.html /above.html /none "
            "/cgi-bin/none.cgi /.htaccess /closed/.htaccess /%7Erobin/index.html //index.html /list/../page"
        ).split(),
        "shop.example.org": "/ /index.html /closed/a.html /closed/ /none /icons/i.gif /~robin/".split(),
        "one.mass.example.org": "/ /index.html /none /icons/i.gif".split(),
        "two.mass.example.org": "/ /index.html".split(),
    }.items()
    for path in paths
)
"""Requests that touch what the image has, and what it lacks."""
CLIENTS = ("192.0.2.7", "198.51.100.1")
WRITTEN = 1_300_000_000
"""The time of the last change of all files."""
_COMMANDS = {
    "check": check.app,
    "explain": explain.app,
    "replay": replay.app,
    "upgrade": upgrade.app,
    "verify": verify.app,
}


def write_image(top: Path, lines: str = "", **texts: str) -> Path:
    """Write the image to *top* and return it; *lines* follow in the main file.

    *texts* replace or add files: names are paths with ``__`` in place of slashes.
    """
    modules = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES.split())
    main = MAIN.format(modules=modules) + lines
    added = {name.replace("__", "/"): text for name, text in texts.items()}
    for name, text in {"etc/httpd/conf/httpd.conf": main, **FILES, **added}.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (WRITTEN, WRITTEN))
    (top / "var/www/cgi-bin/there.cgi").chmod(0o755)
    for name, target in LINKS.items():
        link = top / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    for where, _, _ in os.walk(top):
        os.utime(where, (WRITTEN, WRITTEN))
    return top


def run(command: str, *words: str | Path) -> tuple[int, str]:
    """Run a command of whimbrel; return its exit code and what it printed, in one line for each paragraph."""
    result = CliRunner().invoke(_COMMANDS[command], [*map(str, words)], env={"COLUMNS": "400"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, re.sub(r"\x1b\[[\d;]*m", "", result.output)


def random_urls(count: int, seed: int) -> list[str]:
    """Return URLs of random names of the image, in random depth."""
    draw = random.Random(seed)
    hosts = sorted({url.split("/")[2] for url in URLS})
    names = sorted({name for url in URLS for name in url.split("/")[3:]} - {"there.cgi"})
    return [
        f"http://{draw.choice(hosts)}/" + "/".join(draw.choices(names, k=draw.randint(1, 3)))
        for _ in range(count)
    ]
