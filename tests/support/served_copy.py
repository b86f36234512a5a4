"""Copies of a server of Red Hat's layout, as `whimbrel serve` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from tests.support.client import Reply
from whimbrel.cli.arguments import Arguments
from whimbrel.cli.serve_places import ServePlaces
from whimbrel.cli.served_server import ServedServer
from whimbrel.config.servers import server_at
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = (
    "mpm_event authz_core authz_host authz_user authn_core authn_file auth_basic log_config unixd mime dir "
    "alias rewrite userdir"
)
MAIN = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in MODULES.split())


def lay(image: Path, lines: str, **files: str) -> Path:
    """Write a copy below *image* with *lines* in the main file; return its directory /etc/httpd.

    The names of *files* are paths with ``__`` in place of slashes.
    """
    texts = {
        "etc/httpd/conf/httpd.conf": (
            f'ServerRoot "/etc/httpd"\nListen 80\n{MAIN}User nobody\nServerName localhost\n'
            f'DocumentRoot "/var/www/html"\n<Directory />\nRequire all denied\n</Directory>\n{lines}'
        ),
        "etc/mime.types": "text/html html\n",
        **{name.replace("__", "/"): text for name, text in files.items()},
    }
    for name, text in texts.items():
        path = image / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return image / "etc/httpd"


@contextmanager
def served(
    tree: Path, *, ports: Mapping[int, int] | None = None, dialect: str = "2.4"
) -> Iterator[ServedServer]:
    """Return the loader of *tree*; the environment and the temporary directory end with the block."""
    server = server_at(str(tree), as_server=tree.is_file())
    assert server is not None
    arguments = Arguments("whimbrel serve")
    arguments.root, arguments.file, arguments.dialect = server.root, server.path, dialect
    places = ServePlaces(server)
    try:
        with mock.patch.dict("os.environ"):
            yield ServedServer(arguments, server, ports or {}, places)
    finally:
        places.close()


def get(loader: ServedServer, path: str, *headers: str, port: int = 80) -> Reply:
    """Return the response to one request that arrives at *port*."""
    engine = Engine(loader.load_to_serve(), FakeRuntime())
    client = TestClient(engine, Connection("127.0.0.1", 50000, "127.0.0.1", port))
    head = "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers])
    status, _, rest = client.send(f"{head}\r\n\r\n".encode()).decode("latin-1").partition("\r\n")
    return Reply(int(status.split()[1]), body=rest.partition("\r\n\r\n")[2])
