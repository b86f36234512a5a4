"""The variables of programs.  Expected values and their order are those of httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.support.client import decoded_body, fetch
from tests.support.engine import build_engine
from tests.support.samples import amount
from tests.support.scripts import build_cgi_engine
from tests.support.site import MTIME

from whimbrel.base.product import VERSION
from whimbrel.engine.pipeline import subrequest
from whimbrel.engine.prepared.prepared_request import MAX_TRANSLATED, PreparedRequest
from whimbrel.engine.request import Request
from whimbrel.modules.support.cgi.environment import add_cgi_vars, overlap, path_info_start

SHOW = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n'\n/usr/bin/tr '\\0' '\\n' </proc/self/environ\n"


def variables(root: Path, path: str, *headers: str, conf: str = "", version: str = "2.4") -> dict[str, str]:
    """Return the script's environment, in order."""
    serving = build_cgi_engine(root, {"env.cgi": SHOW, "d/x": ""}, conf, version)
    return dict(line.split("=", 1) for line in decoded_body(fetch(serving, path, *headers)).splitlines())


def test_order(tmp_path: Path) -> None:
    found = variables(tmp_path, "/env.cgi/x/y?a=b", "X-A: 1", "Content-Type: t/x")
    names = [n for n in found if n not in ("TZ", "LD_LIBRARY_PATH", "PWD", "SHLVL", "_", "OLDPWD")]
    assert (
        names
        == (
            "HTTP_HOST HTTP_CONNECTION HTTP_X_A CONTENT_TYPE PATH SERVER_SIGNATURE SERVER_SOFTWARE "
            "SERVER_NAME SERVER_ADDR SERVER_PORT REMOTE_ADDR "
            "DOCUMENT_ROOT REQUEST_SCHEME CONTEXT_PREFIX CONTEXT_DOCUMENT_ROOT SERVER_ADMIN SCRIPT_FILENAME "
            "REMOTE_PORT GATEWAY_INTERFACE "
            "SERVER_PROTOCOL REQUEST_METHOD QUERY_STRING REQUEST_URI SCRIPT_NAME PATH_INFO PATH_TRANSLATED"
        ).split()
    )


def test_values(tmp_path: Path) -> None:
    found = variables(tmp_path, "/env.cgi/a%20b/c?x=%20y")
    wanted = {
        "REQUEST_URI": "/env.cgi/a%20b/c?x=%20y",
        "SCRIPT_NAME": "/env.cgi",
        "PATH_INFO": "/a b/c",
        "PATH_TRANSLATED": f"{tmp_path}/htdocs/a b/c",
        "QUERY_STRING": "x=%20y",
        "GATEWAY_INTERFACE": "CGI/1.1",
        "SERVER_SOFTWARE": f"Whimbrel/{VERSION} (Apache/2.4 compatible)",
        "SERVER_ADMIN": "[no address given]",
        "REQUEST_SCHEME": "http",
        "CONTEXT_PREFIX": "",
        "DOCUMENT_ROOT": f"{tmp_path}/htdocs",
    }
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        ("2.4", {"HTTP_X_A": "1", "HTTP_X_DOT_X": None, "HTTP_PROXY": None, "HTTP_AUTHORIZATION": None}),
        ("2.2", {"HTTP_X_A": "under", "HTTP_X_DOT_X": "2", "HTTP_PROXY": None, "HTTP_AUTHORIZATION": None}),
    ],
)
def test_header_names(version: str, wanted: dict[str, str | None], tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        "/env.cgi",
        "X-A: 1",
        "X_A: under",
        "X-Dot.x: 2",
        "Proxy: evil",
        "Authorization: Basic YTpi",
        version=version,
    )
    assert {name: found.get(name) for name in wanted} == wanted


def test_credentials_are_passed_on_request(tmp_path: Path) -> None:
    found = variables(
        tmp_path, "/env.cgi", "Authorization: Basic YTpi", conf="<Location />\nCGIPassAuth On\n</Location>"
    )
    assert found["HTTP_AUTHORIZATION"] == "Basic YTpi"


def test_own_variables(tmp_path: Path) -> None:
    found = variables(
        tmp_path,
        "/env.cgi",
        conf="SetEnv FOO bar\nSetEnv A-B x\nSetEnv 9x y\nSetEnv PATH /mine\nSetEnv server_name lower",
    )
    assert (found["FOO"], found["A_B"], found["_x"], found["PATH"], found["server_name"]) == (
        "bar",
        "x",
        "y",
        "/mine",
        "localhost",
    )
    assert "SERVER_NAME" not in found


def test_the_old_version_keeps_its_path(tmp_path: Path) -> None:
    assert variables(tmp_path, "/env.cgi", conf="SetEnv PATH /mine", version="2.2")["PATH"] != "/mine"


def test_alias_is_the_context(tmp_path: Path) -> None:
    found = variables(tmp_path, "/al/env.cgi/z", conf='Alias /al/ "@/htdocs/"')
    assert (found["CONTEXT_PREFIX"], found["CONTEXT_DOCUMENT_ROOT"]) == ("/al/", f"{tmp_path}/htdocs/")
    assert found["PATH_TRANSLATED"] == f"{tmp_path}/htdocs/z"


def test_error_documents_know_where_they_come_from(tmp_path: Path) -> None:
    found = variables(tmp_path, "/nope/x?y=1", conf="ErrorDocument 404 /env.cgi?s=404\nSetEnv FOO bar")
    names = (
        "REDIRECT_STATUS",
        "REDIRECT_URL",
        "REDIRECT_QUERY_STRING",
        "REDIRECT_REQUEST_METHOD",
        "REDIRECT_FOO",
        "QUERY_STRING",
        "REQUEST_URI",
    )
    assert [found.get(name) for name in names] == [
        "404",
        "/nope/x",
        "y=1",
        "GET",
        "bar",
        "s=404",
        "/nope/x?y=1",
    ]


def test_current_uri(tmp_path: Path) -> None:
    conf = "ErrorDocument 404 /env.cgi\n<Location /env.cgi>\nCGIVar REQUEST_URI current-uri\n</Location>"
    assert variables(tmp_path, "/nope", conf=conf)["REQUEST_URI"] == "/env.cgi"


def test_path_info_start() -> None:
    assert path_info_start("/a/b.cgi/x/y", "/x/y") == len("/a/b.cgi")
    assert path_info_start("/a/b.cgi//x//y", "/x/y") == len("/a/b.cgi")
    assert path_info_start("/a/x/y", "/other") == len("/a/x/y")
    assert path_info_start("/f/a/b", "/a%2fb") == len("/f/a")
    assert path_info_start("/x/y", "/x/y") == 0


def test_user_of_the_request_that_was_redirected(tmp_path: Path) -> None:
    """ap_add_common_vars: the nearest user of the requests before, under a name of its own."""
    (tmp_path / "passwd").write_text("alice:{SHA}kdy94uMKllPDlkpZtDPLJvfffX8=\n")
    conf = (
        "LoadModule authn_core_module modules/mod_authn_core.so\n"
        "LoadModule authn_file_module modules/mod_authn_file.so\n"
        "LoadModule auth_basic_module modules/mod_auth_basic.so\n"
        "LoadModule authz_user_module modules/mod_authz_user.so\n"
        "ErrorDocument 404 /env.cgi\n<Location /nope>\nAuthType Basic\nAuthName a\n"
        f"AuthUserFile {tmp_path}/passwd\nRequire valid-user\n</Location>"
    )
    found = variables(tmp_path, "/nope", "Authorization: Basic YWxpY2U6Y3VybGV3", conf=conf)
    assert (found.get("REDIRECT_REMOTE_USER"), found.get("REMOTE_USER")) == ("alice", None)


def test_overlap_keeps_spelling() -> None:
    env = {"a": "1", "B": "2"}
    overlap(env, {"A": "3", "c": "4"})
    assert list(env.items()) == [("a", "3"), ("B", "2"), ("c", "4")]


@pytest.mark.parametrize("seed", range(amount(2, 5)))
def test_overlap_of_upper_case_is_that_of_every_case(seed: int) -> None:
    dice = random.Random(seed)
    names = ["A", "B", "HTTP_A", "C_1"] + dice.choice([[], ["a", "Http_A", "\xe9", "\xdf", "\xff"]])
    for _ in range(200):
        env = {name: f"{name}1" for name in dice.choices(names, k=3)}
        over = {name: f"{name}2" for name in dice.choices(names, k=3)}
        wanted = dict(env)
        spelled = {name.upper(): name for name in wanted}
        for name, value in over.items():
            wanted[spelled.setdefault(name.upper(), name)] = value
        overlap(env, over)
        assert list(env.items()) == list(wanted.items())


def test_path_info_of_a_prepared_request_is_looked_up_until_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = (
        "LoadModule reflector_module modules/mod_reflector.so\nSetHandler reflector\n"
        "LoadModule dir_module modules/mod_dir.so\nDirectoryIndex index.html\n"
    )
    engine = build_engine(tmp_path, conf, {"htdocs/a.txt": "a", "htdocs/d/index.html": "i"})
    for path in [tmp_path, *tmp_path.rglob("*")]:
        os.utime(path, (MTIME, MTIME))
    applied: list[tuple[PreparedRequest, Request]] = []
    apply = PreparedRequest.apply

    def noted(self: PreparedRequest, r: Request) -> None:
        apply(self, r)
        applied.append((self, r))

    monkeypatch.setattr(PreparedRequest, "apply", noted)
    for _ in range(5):
        fetch(engine, "/a.txt", method="POST", body="text")
    prepared, r = applied[-1]
    lookups: list[str] = []
    lookup = subrequest.lookup_uri

    async def counted(r: Request, target: str, *more: Any, **options: Any) -> Request:
        lookups.append(target)
        return await lookup(r, target, *more, **options)

    monkeypatch.setattr(subrequest, "lookup_uri", counted)

    def translated(*, is_first: bool = True) -> str:
        r.path_info = "/d/"
        r.env = {}
        asyncio.run(add_cgi_vars(r, is_first=is_first))
        return r.env["PATH_TRANSLATED"]

    index = tmp_path / "htdocs/d/index.html"
    assert [translated() for _ in range(3)] == [str(index)] * 3
    assert lookups == ["/d/", "index.html"]
    assert prepared.path_translated is not None
    assert prepared.path_translated.weight <= MAX_TRANSLATED
    translated(is_first=False)
    assert lookups.count("/d/") == 2
    index.unlink()
    assert translated() == f"{index.parent}/"
    assert lookups.count("/d/") == 3
