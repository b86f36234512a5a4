"""phpMyAdmin with a MariaDB server: log in, pages, a file of SQL; by php-fpm behind mod_proxy_fcgi."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.browser import Browser
from tests.support.mariadb import INSTALL, PASSWORD, PROGRAM, USER, MariaDb
from tests.support.php import PHPMYADMIN, PhpFpm, own, php_fpm, phpmyadmin

pytestmark = [
    pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy: apache2 is not installed"),
    pytest.mark.skipif(php_fpm() is None, reason="php-fpm is not installed"),
    pytest.mark.skipif(not PHPMYADMIN.exists(), reason="phpmyadmin is not installed"),
    pytest.mark.skipif(PROGRAM is None or INSTALL is None, reason="mariadb-server is not installed"),
]
CONF = """
DirectoryIndex index.php
<FilesMatch "\\.php$">
  SetHandler "proxy:unix:%base%/fpm.sock|fcgi://php"
</FilesMatch>
"""
BOUNDARY = "----bird"
SQL = "CREATE TABLE bird (name VARCHAR(20));\n" + "".join(
    f"INSERT INTO bird VALUES ('wader {number}');\n" for number in range(300)
)


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[StockServer, MariaDb]]:
    with TemporaryDirectory(prefix="pma-") as name:
        base = Path(name)
        write_documents(base)
        database = MariaDb(base)
        phpmyadmin(base / "www/html/pma", database.socket)
        own(base / "www/html/pma")
        with (
            database,
            PhpFpm(base),
            StockServer(
                WHIMBREL, base, CONF.replace("%base%", str(base)), modules=["proxy", "proxy_fcgi"]
            ) as server,
        ):
            assert server.started, server.output
            yield server, database


@pytest.fixture(scope="module")
def browser(site: tuple[StockServer, MariaDb]) -> Browser:
    """Return a client that is logged in."""
    browser = Browser(site[0].port)
    token = token_of(browser.get("/pma/"))
    fields = {"pma_username": USER, "pma_password": PASSWORD, "server": "1", "token": token}
    page = browser.post("/pma/index.php?route=/", fields)
    assert f"{USER}@localhost" in page
    return browser


def token_of(page: str) -> str:
    """Return the token of the forms of *page*."""
    match = re.search(r'name="token" value="([^"]+)"', page)
    assert match is not None
    return html.unescape(match[1])


def form(fields: dict[str, str], file: tuple[str, bytes]) -> bytes:
    """Return *fields* and a file as multipart/form-data."""
    lines = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    lines.append(
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="import_file"; filename="{file[0]}"\r\n'
        "Content-Type: application/sql\r\n\r\n"
    )
    return "".join(lines).encode() + file[1] + f"\r\n--{BOUNDARY}--\r\n".encode()


def test_a_wrong_password_is_refused(site: tuple[StockServer, MariaDb]) -> None:
    browser = Browser(site[0].port)
    fields = {
        "pma_username": USER,
        "pma_password": "no",
        "server": "1",
        "token": token_of(browser.get("/pma/")),
    }
    assert "Access denied for user" in browser.post("/pma/index.php?route=/", fields)


def test_pages(browser: Browser) -> None:
    page = browser.get("/pma/index.php?route=/server/databases")
    assert "waders" in page
    assert browser.get("/pma/index.php?route=/database/structure&db=waders").count("waders") > 5


def test_a_file_of_statements_is_run(browser: Browser, site: tuple[StockServer, MariaDb]) -> None:
    page = browser.get("/pma/index.php?route=/database/import&db=waders")
    fields = {
        "db": "waders",
        "table": "",
        "import_type": "database",
        "format": "sql",
        "charset_of_file": "utf-8",
        "sql_compatibility": "NONE",
        "token": token_of(page),
    }
    data = form(fields, ("birds.sql", SQL.encode()))
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    answer = browser.get("/pma/index.php?route=/import", data, kind)
    assert "Import has been successfully finished" in answer
    assert site[1].query("SELECT COUNT(*), MAX(name) FROM bird") == "300\twader 99\n"
    assert "wader 17" in browser.get("/pma/index.php?route=/sql&db=waders&table=bird&pos=0")
