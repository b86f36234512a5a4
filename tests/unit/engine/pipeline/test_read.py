"""Which server a request belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "unixd")
)
CONF = """
LoadModule dir_module m/mod_dir.so
ServerRoot "{root}"
ServerName localhost
Listen 80
DocumentRoot "{root}/one"
{more}
<VirtualHost *:80>
    ServerName a.example
</VirtualHost>
<VirtualHost *:80>
    ServerName b.example
    ServerPath {path}
    DocumentRoot "{root}/two"
</VirtualHost>
"""


def ask(engine: Engine, path: str) -> tuple[str, str]:
    """Return status and Location of a response to a client that names no host."""
    client = TestClient(engine, Connection("127.0.0.1", 50_000, "127.0.0.1", 80))
    got = client.send(f"GET {path} HTTP/1.0\r\n\r\n".encode()).decode("latin-1")
    found = re.search(r"\r\nLocation: ([^\r]*)", got)
    return got.split(" ")[1], found[1] if found else ""


@pytest.mark.parametrize(("dialect", "more"), [(V24, MODULES), (V22, "NameVirtualHost *:80")])
@pytest.mark.parametrize(
    ("server_path", "slashless"), [("/d", ("301", "http://b.example/d/")), ("/d/", ("404", ""))]
)
def test_server_path(
    tmp_path: Path, dialect: Dialect, more: str, server_path: str, slashless: tuple[str, str]
) -> None:
    """It is part of the URL that the client sees, and none of the file's name (recorded of both versions)."""
    for name in ("one", "two", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "two/index.html").write_text("two\n")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/httpd.conf").write_text(CONF.format(root=tmp_path, path=server_path, more=more))
    engine = Engine(load(LoadOptions(server_root=str(tmp_path)), ALL, dialect), FakeRuntime())
    assert ask(engine, "/d/") == ("200", "")
    assert ask(engine, "/d") == slashless
    assert ask(engine, "/dx") == ("404", "")
