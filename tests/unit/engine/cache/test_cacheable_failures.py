"""A file that cannot be read at one moment is read again by the next request: its error is not cached."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from errno import EMFILE
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

ACCOUNT = "u:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n"  # of "password"
SECRET = 'AuthType Basic\nAuthName x\nAuthUserFile "@/htdocs/accounts"\nRequire valid-user\n'
AUTH = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n"
    for name in ("authn_core", "authn_file", "authz_user", "auth_basic")
)


@dataclass(frozen=True)
class Case:
    """A request for *path* that reads *file* of *files*; *status* is that of a moment without descriptors."""

    path: str
    file: str
    status: int
    conf: str = ""
    files: dict[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] = ()


CASES = {
    "document": Case("/f.txt", "f.txt", 403),
    "htaccess": Case("/f.txt", ".htaccess", 403, files={"htdocs/.htaccess": "Header set X y\n"}),
    "accounts": Case(
        "/f.txt",
        "accounts",
        500,
        f"{AUTH}<Location />\n{SECRET}</Location>",
        {"htdocs/accounts": ACCOUNT},
        ("Authorization: Basic dTpwYXNzd29yZA==",),
    ),
    "asis": Case(
        "/f.asis",
        "f.asis",
        403,
        "LoadModule asis_module m/mod_asis.so\nAddHandler send-as-is asis",
        {"htdocs/f.asis": "Content-Type: text/plain\n\nhello\n"},
    ),
    "type map": Case(
        "/f.var",
        "f.var",
        403,
        "LoadModule negotiation_module m/mod_negotiation.so\nAddHandler type-map var",
        {"htdocs/f.var": "URI: f.txt\nContent-Type: text/plain\n"},
    ),
    "image map": Case(
        "/f.map?1,1",
        "f.map",
        404,
        "LoadModule imagemap_module m/mod_imagemap.so\nAddHandler imap-file map",
        {"htdocs/f.map": "default /f.txt\n"},
    ),
    "rewrite map": Case(
        "/g.txt",
        "map",
        404,
        "LoadModule rewrite_module m/mod_rewrite.so\nRewriteEngine On\nRewriteMap m txt:@/htdocs/map\n"
        "RewriteRule ^/(g.*) /${m:$1|none}",
        {"htdocs/map": "g.txt f.txt\n"},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_unreadable_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: Case
) -> None:
    serving = build_engine(tmp_path, case.conf, {"htdocs/f.txt": "hello\n", **case.files})
    good = fetch(serving, case.path, *case.fields)
    assert good.status in (200, 302)
    serving = build_engine(tmp_path, case.conf, {"htdocs/f.txt": "hello\n", **case.files})
    real_open = os.open

    def fail(path: bytes | str, *arguments: int, **more: int | None) -> int:
        if os.fsdecode(path).endswith(f"/{case.file}"):
            raise OSError(EMFILE, os.strerror(EMFILE))
        return real_open(path, *arguments, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        assert [fetch(serving, case.path, *case.fields).status for _ in range(3)] == [case.status] * 3
    again = fetch(serving, case.path, *case.fields)
    assert (again.status, again.body) == (good.status, good.body)
