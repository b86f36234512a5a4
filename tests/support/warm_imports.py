"""What a server with the usual modules has imported when it listens: `warm_server` forks such a process.

A start looks through the functions of all that is imported, so that other modules would cost more than they
save.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import whimbrel.cli.bootstrap
import whimbrel.cli.config_loader
import whimbrel.cli.httpd
import whimbrel.cli.signals
from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL
from whimbrel.server.master.preload import import_everything

USUAL: Final = (
    "access_compat alias auth_basic authn_core authn_file authz_core authz_host authz_user autoindex cgi "
    "deflate dir env filter headers include mime mpm_event negotiation rewrite setenvif"
).split()
"""Modules of most configurations."""


def _import() -> None:
    package = Path(whimbrel.__file__).parent
    for file in sorted((package / "server").rglob("*.py")):
        import_module(".".join(file.relative_to(package.parent).with_suffix("").parts))
    with TemporaryDirectory() as name:
        lines = [f"LoadModule {module}_module modules/mod_{module}.so\n" for module in USUAL]
        text = "".join(
            (*lines, "ServerName localhost\nListen 127.0.0.1:80\nTypesConfig types\nErrorLog errors\n")
        )
        Path(name, "types").write_text("text/html html\n")
        Path(name, "httpd.conf").write_text(text)
        options = LoadOptions(server_root=name, file=f"{name}/httpd.conf")
        import_everything(load(options, ALL, V24))


_import()
