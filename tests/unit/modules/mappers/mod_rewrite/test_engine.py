"""Rewriting log. The lines are recorded from httpd 2.4.71 and 2.2.34."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.testing.fake_runtime import FakeRuntime

LOAD = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
NUMBERS = re.compile(r"(?:sid|rid)#[0-9a-f]+")


def lines(root: Path, conf: str, path: str, log: str, version: str = "2.4") -> list[str]:
    """Return the lines of one request in the log of that name, from the server's name on."""
    files = {"htdocs/a.txt": "A", "htdocs/d/x.txt": "DX", "conf/map.txt": "two /d/x.txt\n"}
    serving = build_engine(root, LOAD + conf, files, version)
    fetch(serving, path)
    written = b"".join(cast("FakeRuntime", serving.runtime).logs.get(f"{root}/{log}", [])).decode("latin-1")
    return [
        NUMBERS.sub("#", line[line.index("[localhost/") :]).replace(str(root), "@")
        for line in written.splitlines()
        if "[localhost/" in line
    ]


RULES = (
    "RewriteMap m txt:conf/map.txt\nRewriteCond %{QUERY_STRING} ^go(.) [NC,OR]\nRewriteCond %{HTTP_HOST} "
    "=none\n"
    "RewriteRule ^/one/(.*)$ ${m:$1|/b.html}?z=%1 [QSA]\nRewriteRule ^/two /new [R=301,L]\n"
)
WHO = "[localhost/#][#/initial] "


def test_levels_of_the_new_log(tmp_path: Path) -> None:
    assert lines(tmp_path, f"LogLevel warn rewrite:trace6\n{RULES}", "/one/two?go1", "logs/error_log") == [
        WHO + text
        for text in (
            "init rewrite engine with requested uri /one/two",
            "applying pattern '^/one/(.*)$' to uri '/one/two'",
            "RewriteCond: input='go1' pattern='^go(.)' [NC] => matched",
            "cache lookup FAILED, forcing new map lookup",
            "map lookup OK: map=m[txt] key=two -> val=/d/x.txt",
            "rewrite '/one/two' -> '/d/x.txt?z=1'",
            "split uri=/d/x.txt?z=1 -> uri=/d/x.txt, args=z=1&go1",
            "setting lastsub to rule with output ${m:$1|/b.html}?z=%1",
            "applying pattern '^/two' to uri '/d/x.txt'",
            "local path result: /d/x.txt",
            "prefixed with document_root to @/htdocs/d/x.txt",
            "go-ahead with @/htdocs/d/x.txt [OK]",
        )
    ]


def test_low_levels_say_less(tmp_path: Path) -> None:
    assert lines(tmp_path, f"LogLevel warn rewrite:trace1\n{RULES}", "/two?q", "logs/error_log") == [
        WHO + text
        for text in (
            "escaping http://localhost/new for redirect",
            "copying q to query string for redirect ",
            "redirect to http://localhost/new?q [REDIRECT/301]",
        )
    ]


def test_the_old_log_is_a_file_of_its_own(tmp_path: Path) -> None:
    conf = f"RewriteLog logs/rewrite.log\nRewriteLogLevel 2\n{RULES}"
    assert lines(tmp_path, conf, "/two?q", "logs/rewrite.log", "2.2") == [
        WHO + text
        for text in (
            "(2) init rewrite engine with requested uri /two",
            "(2) rewrite '/two' -> '/new'",
            "(2) explicitly forcing redirect with http://localhost/new",
            "(1) escaping http://localhost/new for redirect",
            "(1) redirect to http://localhost/new?q [REDIRECT/301]",
        )
    ]


def test_directories_and_redirects_have_their_marks(tmp_path: Path) -> None:
    conf = 'LogLevel warn rewrite:trace3\n<Directory "@/htdocs/d">\nRewriteRule ^zz$ a.html\n</Directory>\n'
    assert lines(tmp_path, conf, "/d/zz", "logs/error_log")[2:8] == [
        WHO + "[perdir @/htdocs/d/] strip per-dir prefix: @/htdocs/d/zz -> zz",
        WHO + "[perdir @/htdocs/d/] applying pattern '^zz$' to uri 'zz'",
        WHO + "[perdir @/htdocs/d/] rewrite 'zz' -> 'a.html'",
        WHO + "[perdir @/htdocs/d/] add per-dir prefix: a.html -> @/htdocs/d/a.html",
        WHO + "[perdir @/htdocs/d/] setting lastsub to rule with output a.html",
        WHO + "[perdir @/htdocs/d/] strip document_root prefix: @/htdocs/d/a.html -> /d/a.html",
    ]
    assert lines(tmp_path, conf, "/d/zz", "logs/error_log")[9].startswith(
        "[localhost/#][#/initial/redir#1] init rewrite engine"
    )


@pytest.mark.parametrize(
    ("rule", "result"),
    [
        ("^/y(/.*)$ /$1 [L]", "/d/x.txt"),
        ("^/y(/.*)$ /$1 [UNC,L]", "//d/x.txt"),
        ("^/y(/.*)$ //$1 [L]", "///d/x.txt"),
    ],
)
def test_slashes_in_front_of_a_local_path_are_one(tmp_path: Path, rule: str, result: str) -> None:
    """Unless the rule is written with two, or has the flag UNC."""
    found = lines(
        tmp_path, f"LogLevel warn rewrite:trace2\nRewriteRule {rule}\n", "/y/d/x.txt", "logs/error_log"
    )
    assert [line.removeprefix(WHO) for line in found][-3:] == [
        f"local path result: {result}",
        "prefixed with document_root to @/htdocs/d/x.txt",
        "go-ahead with @/htdocs/d/x.txt [OK]",
    ]


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (
            "/d/in",
            [
                "[perdir @/htdocs/d/] trying to replace prefix @/htdocs/d/ with /base",
                "strip matching prefix: @/htdocs/d/a.html -> a.html",
                "add subst prefix: a.html -> /base/a.html",
                "[perdir @/htdocs/d/] internal redirect with /base/a.html [INTERNAL REDIRECT]",
            ],
        ),
        (
            "/d/out",
            [
                "[perdir @/htdocs/d/] trying to replace prefix @/htdocs/d/ with /base",
                "[perdir @/htdocs/d/] trying to replace context docroot @/htdocs with context prefix ",
                "[perdir @/htdocs/d/] internal redirect with /other.html [INTERNAL REDIRECT]",
            ],
        ),
    ],
)
def test_a_prefix_that_is_not_there_is_not_replaced(tmp_path: Path, path: str, wanted: list[str]) -> None:
    conf = (
        'LogLevel warn rewrite:trace5\n<Directory "@/htdocs/d">\nRewriteEngine On\nRewriteBase /base\n'
        "RewriteRule ^in$ a.html\nRewriteRule ^out$ /other.html\n</Directory>\n"
    )
    found = [line for line in lines(tmp_path, conf, path, "logs/error_log") if line.startswith(WHO)]
    assert [line.removeprefix(WHO) for line in found][-len(wanted) :] == wanted


@pytest.mark.parametrize(
    ("version", "wanted"),
    [
        (
            "2.4",
            ["rewrite '/r' -> 'b?x'", "add root prefix: b?x -> /b?x", "split uri=/b?x -> uri=/b, args=x"],
        ),
    ],
)
def test_a_relative_result_is_completed_before_its_query_is_taken_out(
    tmp_path: Path, version: str, wanted: list[str]
) -> None:
    found = lines(
        tmp_path, "LogLevel warn rewrite:trace3\nRewriteRule ^/r$ b?x\n", "/r", "logs/error_log", version
    )
    assert [line.removeprefix(WHO) for line in found][2:5] == wanted


def test_an_end_in_a_sub_request_is_nothing_to_what_takes_its_place(tmp_path: Path) -> None:
    """The look-up of the index file ends with END; its redirect is rewritten again, as in 2.4.71."""
    rules = (
        "RewriteEngine On\nRewriteRule ^index\\.html$ /e/two.html [END]\nRewriteRule ^two\\.html$ "
        "/e/three.html [END]\n"
    )
    files = {f"htdocs/e/{name}.html": f"{name}\n" for name in ("index", "two", "three")}
    serving = build_engine(tmp_path, LOAD, {**files, "htdocs/e/.htaccess": rules})
    assert [fetch(serving, path).body for path in ("/e/", "/e/two.html", "/e/index.html")] == [
        "three\n",
        "three\n",
        "two\n",
    ]
