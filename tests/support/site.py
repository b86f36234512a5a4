"""Server roots on disk, laid out from texts, and the configurations loaded from them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from whimbrel.base.dialect import DIALECTS, V22, V24, Dialect
from whimbrel.config.check import check
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

MTIME = 1_600_000_000  # Sun, 13 Sep 2020 12:26:40 GMT
CONF = "conf/httpd.conf"
PREAMBLE = {
    "2.4": [
        "LoadModule mpm_event_module m/mod_mpm_event.so",
        "LoadModule env_module m/mod_env.so",
        "Listen 127.0.0.1:8080",
        "ServerName localhost",
    ],
    "2.2": [
        "LoadModule env_module m/mod_env.so",
        "LoadModule version_module m/mod_version.so",
        "Listen 127.0.0.1:8080",
        "ServerName localhost",
    ],
}


def load_module_lines(names: Iterable[str]) -> str:
    """Return a LoadModule line for each name."""
    return "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)


def write_file(path: Path, text: str, mtime: float | None = MTIME) -> None:
    """Write one file of latin-1 *text* and its directories; *mtime* None leaves the present time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("latin-1"))
    if mtime is not None:
        os.utime(path, (mtime, mtime))


def write_files(root: Path, files: Mapping[str, str], mtime: float | None = MTIME) -> None:
    """Write *files* (texts by path below *root*)."""
    for name, text in files.items():
        write_file(root / name, text, mtime)


class Site:
    """A server root with a main configuration file; `check` and `load` read it with `PREAMBLE` before it."""

    def __init__(self, root: Path, conf: str, files: Mapping[str, str] | None = None) -> None:
        self.root = root
        for directory in ("conf", "logs", "htdocs", "run"):
            (root / directory).mkdir(parents=True, exist_ok=True)
        write_files(root, {**(files or {}), CONF: conf}, None)

    def options(self, version: str, **more: object) -> LoadOptions:
        """Return the options of a start of *version*; *more* overrides them."""
        options = {
            "server_root": str(self.root),
            "file": f"{self.root}/{CONF}",
            "before": tuple(PREAMBLE[version]),
            **more,
        }
        return LoadOptions(**options)  # type: ignore[arg-type]

    def check(self, version: str = "2.4", **more: object) -> str:
        """Return the output of -t, with @ for the server root."""
        _status, text = check(self.options(version, **more), ALL, DIALECTS[version])
        return text.replace(str(self.root), "@")

    def load(self, dialect: Dialect = V24, **more: object) -> Configuration:
        """Return the configuration."""
        return load(self.options("2.2" if dialect is V22 else "2.4", check_only=True, **more), ALL, dialect)
