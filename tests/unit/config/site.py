"""A small server root for tests of reading: configuration texts in, httpd's words out."""

from __future__ import annotations

from pathlib import Path

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.check import check
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.modules import ALL

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
DIALECTS = {"2.2": V22, "2.4": V24}


class Site:
    """A server root below *root* with a configuration file and others beside it."""

    def __init__(self, root: Path, conf: str, files: dict[str, str] | None = None) -> None:
        self.root = root
        for folder in ("conf", "logs", "htdocs", "run"):
            (root / folder).mkdir(exist_ok=True)
        for name, text in {**(files or {}), "conf/httpd.conf": conf}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("latin-1"))

    def options(self, version: str, **more: object) -> LoadOptions:
        given = {
            "server_root": str(self.root),
            "file": f"{self.root}/conf/httpd.conf",
            "before": tuple(PREAMBLE[version]),
            **more,
        }
        return LoadOptions(**given)  # type: ignore[arg-type]

    def check(self, version: str = "2.4", **more: object) -> str:
        """The text of -t with the server root shown as @."""
        _status, text = check(self.options(version, **more), ALL, DIALECTS[version])
        return text.replace(str(self.root), "@")

    def load(self, dialect: Dialect = V24, **more: object) -> Configuration:
        return load(self.options("2.2" if dialect is V22 else "2.4", check_only=True, **more), ALL, dialect)
