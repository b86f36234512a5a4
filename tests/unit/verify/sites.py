"""Small configurations as sides of verifications."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.config.options import LoadOptions
from whimbrel.verify.side import Side

MODULES = {
    "2.2": ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile"),
    "2.4": (
        *("mpm_event", "authz_core", "authz_host", "access_compat", "authn_core", "auth_basic"),
        *("authn_file", "authz_user", "authz_groupfile"),
    ),
}
COMMON = ("alias", "dir", "mime", "setenvif", "env", "headers", "rewrite", "autoindex")


SETTLED: Final = 1_700_000_000
"""The time of the files: an ETag is weak for a second after a change, and a test may begin or end in it."""


def make_root(root: Path, files: dict[str, str] | None = None) -> None:
    """Make the directories of a server, with an index page and a password file (alice, in admin; bob)."""
    for name in ("conf", "logs", "htdocs/private"):
        (root / name).mkdir(parents=True, exist_ok=True)
    given = {
        "htdocs/index.html": "home\n",
        "htdocs/private/index.html": "private\n",
        "conf/mime.types": "text/html html\ntext/plain txt\n",
        "conf/users": "alice:$apr1$x$FGRNCkW6AWvkVBmVAIBGq.\nbob:$apr1$x$FGRNCkW6AWvkVBmVAIBGq.\n",
        "conf/groups": "admin: alice\n",
        **(files or {}),
    }
    for name, text in given.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (SETTLED, SETTLED))


def side(root: Path, name: str, conf: str, dialect: Dialect | str, *more: str) -> Side:
    """The configuration *conf* with the modules of its version and those named in *more*."""
    version = "2.2" if str(getattr(dialect, "name", dialect)) == "2.2" else "2.4"
    loaded = (*MODULES[version], *COMMON, *more)
    lines = [f"LoadModule {one}_module modules/mod_{one}.so" for one in loaded]
    lines += ["Listen 127.0.0.1:8080", "ServerName localhost", f'DocumentRoot "{root}/htdocs"']
    lines += ["TypesConfig conf/mime.types", "PidFile logs/pid", conf.replace("@ROOT@", str(root))]
    path = root / "conf" / f"{name}.conf"
    path.write_text("\n".join(lines) + "\n")
    options = LoadOptions(server_root=str(root), file=str(path), origins=True)
    return Side.load(options, dialect, name=name)
