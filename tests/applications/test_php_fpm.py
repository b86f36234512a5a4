"""Applications of Debian behind Whimbrel: dokuwiki, phpMyAdmin (php-fpm) and git-http-backend (fcgiwrap)."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer
from tests.support.browser import Browser
from tests.support.git import BACKEND, NOISE, make_repository, push_and_clone
from tests.support.php import DOKUWIKI, PHPMYADMIN, PhpFpm, copy_tree, dokuwiki, own, php_fpm

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy: apache2 is not installed"),
    pytest.mark.skipif(php_fpm() is None, reason="php-fpm is not installed"),
]
CONF = """
DirectoryIndex index.php index.html
<Proxy "unix:%base%/fpm.sock|fcgi://php/" enablereuse=on>
</Proxy>
<FilesMatch "\\.php$">
  SetHandler "proxy:unix:%base%/fpm.sock|fcgi://php"
</FilesMatch>
<Directory %base%/www>
  Require all granted
</Directory>
<Location /git/>
  ProxyPass unix:%base%/git.sock|fcgi://git/git/
  ProxyFCGISetEnvIf true SCRIPT_FILENAME /usr/lib/git-core/git-http-backend
  ProxyFCGISetEnvIf true GIT_PROJECT_ROOT %base%/repositories
  ProxyFCGISetEnvIf true GIT_HTTP_EXPORT_ALL 1
  ProxyFCGISetEnvIf true REMOTE_USER knot
  ProxyFCGISetEnvIf "reqenv('SCRIPT_NAME') =~ m#^/git(/.*)$#" PATH_INFO $1
</Location>
"""


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Path, StockServer]]:
    with TemporaryDirectory(prefix="php-") as name:
        base = Path(name)
        html = base / "www/html"
        html.mkdir(parents=True)
        (html / "info.php").write_text(
            "<?php header('X-Method: ' . $_SERVER['REQUEST_METHOD']); error_log('complaint');"
            "echo $_SERVER['SCRIPT_NAME'], '|', $_SERVER['PATH_INFO'] ?? '', '|',"
            " $_SERVER['SCRIPT_FILENAME'], '|', $_SERVER['PHP_SELF'], '|', strlen(file_get_contents('php://input'));"
        )
        (html / "big.php").write_text(
            "<?php for ($i = 0; $i < 300; $i++) echo str_repeat(chr(65 + $i % 26), 10000);"
        )
        if DOKUWIKI.exists():
            dokuwiki(html / "wiki")
        if PHPMYADMIN.exists():
            copy_tree(PHPMYADMIN, html / "pma")
        own(base)
        base.chmod(0o755)
        with (
            PhpFpm(base),
            StockServer(
                WHIMBREL, base, CONF.replace("%base%", str(base)), modules=["proxy", "proxy_fcgi"]
            ) as server,
        ):
            assert server.started, server.output
            yield base, server


def test_script_names(site: tuple[Path, StockServer]) -> None:
    base, server = site
    browser, file = Browser(server.port), f"{base}/www/html/info.php"
    assert browser.get("/info.php") == f"/info.php||{file}|/info.php|0"
    assert browser.get("/info.php/a%20b/c?q=1") == f"/info.php|/a b/c|{file}|/info.php/a b/c|0"
    assert browser.get("/info.php", b"x" * 300_000, "text/x") == f"/info.php||{file}|/info.php|300000"
    assert browser.status("/none.php") == 404
    assert "complaint" in (server.run / "error.log").read_text()


def test_long_answer(site: tuple[Path, StockServer]) -> None:
    body = Browser(site[1].port).get("/big.php")
    assert body == "".join(chr(65 + number % 26) * 10000 for number in range(300))


@pytest.mark.skipif(not DOKUWIKI.exists(), reason="dokuwiki is not installed")
def test_dokuwiki(site: tuple[Path, StockServer]) -> None:
    base, server = site
    browser = Browser(server.port)
    page = browser.get("/wiki/doku.php?id=start")
    assert "Red Knot" in page
    for asset in re.findall(r'(?:src|href)="(/wiki/lib/exe/(?:css|js)\.php[^"]*)"', page):
        assert len(browser.get(asset.replace("&amp;", "&"))) > 1000
    fields = {
        "sectok": _token(browser.get("/wiki/doku.php?id=start&do=login")),
        "id": "start",
        "do": "login",
        "u": "knot",
        "p": "test",
    }
    page = browser.post("/wiki/doku.php", fields)
    assert "Logged in as" in page
    edit = browser.get("/wiki/doku.php?id=plover&do=edit")
    fields = {
        "sectok": _token(edit),
        "id": "plover",
        "wikitext": "A golden plover.",
        "do[save]": "Save",
        "rev": "0",
        "date": "",
        "prefix": ".",
        "suffix": "",
        "changecheck": "",
        "target": "section",
    }
    assert "golden plover" in browser.post("/wiki/doku.php?id=plover", fields)
    picture = bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(70_000)
    token = _token(browser.get("/wiki/lib/exe/mediamanager.php?ns="))
    query = urllib.parse.urlencode(
        {
            "tab_files": "files",
            "call": "mediaupload",
            "ns": "",
            "mediaid": "wader.png",
            "qqfile": "wader.png",
            "sectok": token,
            "ow": "true",
        }
    )
    browser.get(f"/wiki/lib/exe/ajax.php?{query}", picture, "application/octet-stream")
    assert (base / "www/html/wiki/data/media/wader.png").read_bytes() == picture


def _token(page: str) -> str:
    match = re.search(r'name="sectok" value="([0-9a-f]*)"', page)
    return match[1] if match else ""


@pytest.mark.skipif(not PHPMYADMIN.exists(), reason="phpmyadmin is not installed")
def test_phpmyadmin(site: tuple[Path, StockServer]) -> None:
    browser, html = Browser(site[1].port), site[0] / "www/html/pma"
    page = browser.get("/pma/")
    assert "pma_username" in page
    assets = re.findall(r'(?:src|href)="((?:js|themes)/[^"]+\.(?:js|css)[^"]*)"', page)
    here = [asset for asset in assets if (html / asset.partition("?")[0]).exists()]  # others: libjs-...
    assert len(here) > 5
    statuses = {asset: browser.status(f"/pma/{asset.replace('&amp;', '&')}") for asset in here}
    assert set(statuses.values()) == {200}, statuses
    token = re.search(r'name="token" value="([^"]+)"', page)
    fields = {"pma_username": "x", "pma_password": "y", "server": "1", "token": token[1] if token else ""}
    assert "pma_username" in browser.post("/pma/index.php", fields)  # no database server, so the login fails


@pytest.mark.skipif(shutil.which("fcgiwrap") is None, reason="fcgiwrap is not installed")
@pytest.mark.skipif(not BACKEND.exists(), reason="git is not installed")
def test_git(site: tuple[Path, StockServer]) -> None:
    base, server = site
    make_repository(base)
    socket = base / "git.sock"
    environment = {
        "HOME": str(base),
        "PATH": "/usr/bin:/bin",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
    }
    process = subprocess.Popen(
        [str(shutil.which("fcgiwrap")), "-s", f"unix:{socket}", "-c", "2"],
        env=environment,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 10
        while not socket.exists() and time.monotonic() < end:
            time.sleep(0.02)
        socket.chmod(0o777)
        assert push_and_clone(f"http://127.0.0.1:{server.port}/git/waders.git", base) == NOISE
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # its workers do not end with it
        process.wait(5)
