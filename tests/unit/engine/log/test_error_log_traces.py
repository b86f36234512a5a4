"""Lines of the error log at levels from debug on, with httpd's file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine

from whimbrel.registry.phases import LOG_TRANSACTION, POST_READ_REQUEST

FILES = {"htdocs/a.txt": "plain a\n"}
CONF = """
LoadModule headers_module modules/mod_headers.so
LogLevel %s
Redirect 307 /moved /there
Redirect gone /gone
<Location /denied>
Require all denied
</Location>
<Location /always>
Header always set X-Set 1
</Location>
<If "%%{QUERY_STRING} == 'x'">
Header set X-If 1
</If>
"""
CLIENT = "[client 127.0.0.1:50000] "


def logged(root: Path, level: str, path: str, *fields: str) -> list[str]:
    """Return the lines about one request, without time, process and port."""
    engine = build_engine(root, CONF % level, FILES)
    fetch(engine, path, *fields)
    lines = [
        re.sub(r"^\[[^\]]*\] (\[[^\]]*\]) \[pid [^\]]*\] ", r"\1 ", x) for x in error_log(engine).splitlines()
    ]
    return [re.sub(r"\[client [^\]]*\] ", "", line) for line in lines]


@pytest.mark.parametrize(
    ("level", "path", "field", "wanted"),
    [
        (
            "debug",
            "/a.txt",
            "Range: bytes=1-3,2-4",
            "[http:debug] byterange_filter.c(279): AH01583: Range: 1-3,2-4 | 1-4 (1 : 0 : 8)",
        ),
        (
            "debug",
            "/moved",
            "A: b",
            "[alias:debug] mod_alias.c(631): AH00673: incomplete redirection target of '/there' "
            "for URI '/moved' modified to 'http://localhost/there'",
        ),
        (
            "debug",
            "/always/none",
            "A: b",
            "[headers:debug] mod_headers.c(900): AH01503: headers: ap_headers_error_filter()",
        ),
        (
            "trace3",
            "/denied",
            "A: b",
            "[core:trace3] request.c(120): auth phase 'check access' gave status 403: /denied",
        ),
        (
            "trace3",
            "/gone",
            "A: b",
            "[core:trace3] request.c(120): auth phase 'translate' gave status 410: /gone",
        ),
        (
            "trace3",
            "/a.txt",
            "A: b",
            "[core:trace3] request.c(360): request authorized without authentication by "
            "access_checker_ex hook: /a.txt",
        ),
        (
            "trace3",
            "/a.txt",
            "A: b",
            "[http:trace3] http_filters.c(1146): Response sent with status 200, headers:",
        ),
        ("trace4", "/a.txt", "A: b", "[http:trace4] http_request.c(435): Headers received from client:"),
        ("trace4", "/a.txt", 'A: "b"', '[http:trace4] http_request.c(438):   A: \\\\"b\\\\"'),
        ("trace4", "/a.txt", "A: b", "[http:trace4] http_filters.c(971):   Content-Length: 8"),
    ],
)
def test_lines(tmp_path: Path, level: str, path: str, field: str, wanted: str) -> None:
    """Lines that apache2 2.4.71 wrote."""
    assert wanted in logged(tmp_path, level, path, field)


def test_conditions_are_traced_with_their_place(tmp_path: Path) -> None:
    found = logged(tmp_path, "trace4", "/a.txt?x")
    pattern = r"\[core:trace4\] util_expr_eval\.c\(869\): Evaluation of expression from \S+:\d+ gave: 1"
    assert any(re.fullmatch(pattern, line) for line in found)


def test_traces_of_heads_are_off_below_their_level(tmp_path: Path) -> None:
    assert not any("trace" in line for line in logged(tmp_path, "debug", "/a.txt?x"))
    engine = build_engine(tmp_path, CONF % "debug", FILES)
    plan = engine.plans.root(engine.main)
    assert not plan.is_traced
    assert plan.make_hooks(LOG_TRANSACTION) == plan.make_hooks(POST_READ_REQUEST) == []


@pytest.mark.parametrize(
    ("conf", "wanted"),
    [
        (
            "",
            "AH10156: Requested hostname 'localhost' did not match any ServerName/ServerAlias in the "
            "global server configuration",
        ),
        (
            "<VirtualHost *>\nServerName v\n</VirtualHost>",
            "AH10157: Requested hostname 'localhost' did not match any ServerName/ServerAlias in the "
            "matching virtual host (default vhost for current connection is @/conf/httpd.conf:",
        ),
    ],
)
def test_a_strict_host_is_named_with_its_server(tmp_path: Path, conf: str, wanted: str) -> None:
    engine = build_engine(tmp_path, f"StrictHostCheck on\nServerName elsewhere\n{conf}", FILES)
    assert fetch(engine, "/a.txt").status == 400
    assert wanted.replace("@", str(tmp_path)) in error_log(engine)


def test_a_strict_host_is_checked_before_the_expectation(tmp_path: Path) -> None:
    """ap_check_request_header, as httpd 2.4.71 answers."""
    for conf, status in (("", 417), ("StrictHostCheck on\nServerName elsewhere\n", 400)):
        engine = build_engine(tmp_path, conf, FILES)
        assert fetch(engine, "/a.txt", "Expect: x").status == status


def test_a_bad_field_of_an_error_names_the_error(tmp_path: Path) -> None:
    """The page of a response that has failed before names that failure; %b counts pages that are not sent."""
    conf = 'LoadModule headers_module modules/mod_headers.so\nHeader always set X-Bad "a\x01b"\n'
    engine = build_engine(tmp_path, f"{conf}LogFormat '%>s %b %X' f\nCustomLog logs/access f", FILES)
    assert fetch(engine, "/none").status == 500
    found = next(lines for name, lines in engine.runtime.logs.items() if name.endswith("access"))
    assert found == [b"500 926 -\n"]
