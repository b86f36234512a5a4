"""Trac, run by mod_wsgi: pages, a wiki page that is saved, static files of the application."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import ServerProcess, server  # noqa: F401 - a fixture
from tests.support.browser import Browser

PYTHON = Path("/usr/bin/python3")
TRAC = importlib.util.find_spec("trac")
pytestmark = [
    pytest.mark.skipif(TRAC is None, reason="the package Trac is not installed"),
    pytest.mark.skipif(not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"),
]
SCRIPT = """
import os
os.environ["TRAC_ENV"] = {environment!r}
from trac.web.main import dispatch_request as application
"""
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
LogLevel info
WSGIPythonHome /usr
WSGIDaemonProcess trac threads=4 python-path={packages}
WSGIScriptAlias /trac {root}/trac.wsgi process-group=trac application-group=%{{GLOBAL}}
<Directory {root}>
    Require all granted
</Directory>
"""


@pytest.fixture
def site(server: ServerProcess) -> Iterator[ServerProcess]:  # noqa: F811
    """Yield a server with a new project."""
    assert TRAC is not None
    assert TRAC.origin is not None
    packages = Path(TRAC.origin).parent.parent
    environment = server.root / "project"
    admin = [str(PYTHON), "-m", "trac.admin.console", str(environment)]
    variables = {**os.environ, "PYTHONPATH": str(packages)}
    for words in (
        ["initenv", "Curlews", "sqlite:db/trac.db"],
        ["permission", "add", "anonymous", "WIKI_ADMIN"],
    ):
        subprocess.run([*admin, *words], env=variables, check=True, capture_output=True)
    for path in (environment, *environment.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    (server.root / "trac.wsgi").write_text(SCRIPT.format(environment=str(environment)))
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root, packages=packages))
    server.start()
    yield server


def test_pages_and_a_saved_one(site: ServerProcess) -> None:
    browser = Browser(site.port)
    for _ in range(4):  # the later ones are prepared, and on a connection that was kept
        assert "Curlews" in browser.get("/trac/wiki")
    assert browser.get("/trac/chrome/common/css/trac.css").strip()
    page = browser.get("/trac/wiki/Mudflat?action=edit")
    token = re.search(r'name="__FORM_TOKEN" value="([^"]+)"', page)
    assert token is not None
    fields = {"__FORM_TOKEN": token[1], "action": "edit", "version": "0", "text": "= Waders ="}
    assert "Waders" in browser.post("/trac/wiki/Mudflat", {**fields, "save": "Submit changes"})
    assert "Waders" in browser.get("/trac/wiki/Mudflat")
    assert browser.status("/trac/nothing") == 404
