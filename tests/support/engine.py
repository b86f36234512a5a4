"""Engines on server roots of tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tests.support.site import CONF, MTIME, load_module_lines, write_file, write_files
from whimbrel.base.dialect import DIALECTS, V24, Dialect
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.testing.fake_runtime import FakeRuntime

TYPES = "text/html html htm\ntext/plain txt\nimage/png png\napplication/x-tar tar\ntext/x-c c\n"
MODULES = {
    "2.4": "mpm_event authz_core mime dir alias env setenvif headers autoindex status".split(),
    "2.2": "authz_host mime dir alias env setenvif headers autoindex status".split(),
}


def start_engine(
    root: Path, file: str = CONF, dialect: Dialect = V24, runtime: FakeRuntime | None = None
) -> Engine:
    """Return an engine on the configuration *file* of a server root that is already laid out."""
    options = LoadOptions(server_root=str(root), file=str(root / file))
    return Engine(load(options, ALL, dialect), runtime or FakeRuntime())


def build_engine(
    root: Path, conf: str, files: Mapping[str, str] | None = None, version: str = "2.4"
) -> Engine:
    """Lay out *files*, write *conf* (``@`` is the server root) behind a preamble that grants all, and
    start.
    """
    write_files(root, {"conf/mime.types": TYPES, "htdocs/.keep": "", "logs/.keep": "", **(files or {})})
    for directory, _, _ in os.walk(root / "htdocs", topdown=False):
        os.utime(directory, (MTIME, MTIME))
    lines = ["Listen 127.0.0.1:80", "ServerName localhost", f'DocumentRoot "{root}/htdocs"']
    lines += [f'<Directory "{root}">', "AllowOverride All"]
    lines += ["Require all granted"] if version == "2.4" else []
    text = load_module_lines(MODULES[version]) + "\n".join([*lines, "</Directory>"])
    write_file(root / CONF, f"{text}\n{conf.replace('@', str(root))}\n", None)
    return start_engine(root, dialect=DIALECTS[version])
