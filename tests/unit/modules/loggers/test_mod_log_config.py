"""Access logs: lines as 2.4.71 and 2.2.34 wrote them, and the same lines from templates of cached
responses.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine
from tests.support.site import Site

from whimbrel.base.dialect import V22, V24
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.modules.loggers.mod_log_config import server_writers
from whimbrel.testing.client import TestClient

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
FILES = {"htdocs/a.txt": "A\n", "htdocs/err.html": "E\n"}


def lines(serving: Engine, name: str = "log") -> list[str]:
    """Return the lines of one access log."""
    return (
        b"".join(next((v for k, v in serving.runtime.logs.items() if k.endswith("/" + name)), []))
        .decode("latin-1")
        .splitlines()
    )  # type: ignore[attr-defined]


def logged(
    root: Path,
    form: str,
    path: str = "/a.txt",
    *headers: str,
    method: str = "GET",
    conf: str = "",
    version: str = "2.4",
) -> str:
    """Return the line of one request."""
    serving = build_engine(root, f"{conf}\nLogFormat '{form}' f\nCustomLog logs/log f", FILES, version)
    fetch(serving, path, *headers, method=method)
    return lines(serving)[0]


@pytest.mark.parametrize(
    ("form", "path", "headers", "expected"),
    [
        ("%h %l %u", "/a.txt", [], "127.0.0.1 - -"),
        ("%>s %s %b %B", "/a.txt", [], "200 200 2 2"),
        ("%r", '/a.txt?y="z"', [], 'GET /a.txt?y=\\"z\\" HTTP/1.1'),
        ("%m %U %q %H", "/a.txt?x", [], "GET /a.txt ?x HTTP/1.1"),
        ("%q", "/a.txt", [], ""),
        ("%v %p %X %k", "/a.txt", [], "localhost 80 - 0"),
        ("%{User-Agent}i|%{Nope}i", "/a.txt", ['User-Agent: a"b\\c\td'], 'a\\"b\\\\c\\td|-'),
        ("%{Referer}i", "/a.txt", ["Referer: caf\xe9"], "caf\\xe9"),
        ("%{Content-Type}o", "/nope", [], "text/html"),
        ("%{K1}C|%{k2}C|%{k3}C", "/a.txt", ['Cookie: k1=v1; k2="v 2"; k3'], 'v1|\\"v 2\\"|-'),
        ("lit\\teral", "/a.txt", [], "lit\teral"),
        ("%%", "/a.txt", [], "%"),
        ('a\\"b', "/a.txt", [], 'a\\"b'),
        ("%!200q", "/nope", [], ""),
        ("%!200,304{User-Agent}i", "/a.txt", ["User-Agent: x"], "-"),
        ("%400,404r", "/nope", [], "GET /nope HTTP/1.1"),
        ("%404U", "/a.txt", [], "-"),
        ("%{c}a %A %{local}p %{canonical}p %{bogus}p", "/a.txt", [], "127.0.0.1 127.0.0.1 80 80 bogus"),
        ("%f", "/a.txt", [], "@/htdocs/a.txt"),
        ("%L %^FB %{X}^ti", "/a.txt", [], "- - -"),
        ("%{bogus}T %{bogus}P", "/a.txt", [], "bogus bogus"),
        ("%I", "/a.txt", [], "59"),
    ],
)
def test_items(tmp_path: Path, form: str, path: str, headers: list[str], expected: str) -> None:
    assert logged(tmp_path, form, path, *headers) == expected.replace("@", str(tmp_path))


def test_original_and_final_request(tmp_path: Path) -> None:
    assert (
        logged(tmp_path, "%>U %<U %U %s %>s %m", "/nope", conf="ErrorDocument 404 /err.html")
        == "/err.html /nope /nope 404 404 GET"
    )


def test_fields_of_an_error_document_are_not_those_of_the_original_response(tmp_path: Path) -> None:
    conf = (
        "LoadModule headers_module modules/mod_headers.so\nErrorDocument 404 /err.html\n"
        "<Files err.html>\nHeader always set X-A b\nHeader always set Set-Cookie c\n</Files>\n"
    )
    form = "%{X-A}o %<{X-A}o %{Set-Cookie}o %<{Set-Cookie}o"
    assert logged(tmp_path, form, "/nope", conf=conf) == "b - c -"


def test_a_head_has_no_bytes(tmp_path: Path) -> None:
    assert logged(tmp_path, "%b %B", method="HEAD") == "- 0"


def test_times(tmp_path: Path) -> None:
    found = logged(tmp_path, "%t|%{%Y}t|%{sec}t|%{end:msec_frac}t|%D|%T|%{ms}T|%P")
    stamp, year, seconds, fraction, micros, whole, millis, process = found.split("|")
    assert re.fullmatch(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]", stamp)
    assert year == time.strftime("%Y")
    assert abs(int(seconds) - time.time()) < 100
    assert re.fullmatch(r"\d{3}", fraction)
    assert int(micros) >= int(millis) >= int(whole) == 0
    assert process.isdigit()


def test_conditions(tmp_path: Path) -> None:
    conf = "SetEnvIf Request_URI a yes\nCustomLog logs/with %U env=yes\nCustomLog logs/without %U env=!yes"
    serving = build_engine(tmp_path, conf, FILES)
    for path in ("/a.txt", "/err.html"):
        fetch(serving, path)
    assert (lines(serving, "with"), lines(serving, "without")) == (["/a.txt"], ["/err.html"])


def test_the_line_of_a_kept_answer(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, 'CustomLog logs/log "%h %t \\"%r\\" %>s %b 100%% %k %{User-Agent}i"', FILES
    )
    fetch(serving, "/a.txt", "User-Agent: u%s")
    fetch(serving, "/a.txt", "User-Agent: other")
    assert [line[line.index('"') :] for line in lines(serving, "log")] == [
        f'"GET /a.txt HTTP/1.1" 200 2 100% 0 {agent}' for agent in ("u%s", "other")
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('LogFormat "%Q" n', "Unrecognized LogFormat directive %Q"),
        ('LogFormat "%{x" n', "Ran off end of LogFormat parsing args to some directive"),
        ('CustomLog logs/x "%!"', "Ran off end of LogFormat parsing args to some directive"),
        ('CustomLog logs/x "%^xx"', "Unrecognized LogFormat directive %^"),
        ('CustomLog logs/x "%h" bogus', "error in condition clause"),
        ('CustomLog logs/x "%h" env=!', "missing environment variable name"),
        ('CustomLog logs/x "%h" expr=', "missing condition"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize("item", ["%L", "%^FB", "%S"])
def test_items_of_24_alone(tmp_path: Path, item: str) -> None:
    site = Site(tmp_path, f'LoadModule log_config_module m/mod_log_config.so\nLogFormat "{item}" n\n')
    assert (
        site.check("2.2")
        == f"Syntax error on line 2 of @/conf/httpd.conf:\nUnrecognized LogFormat directive {item[:2]}"
    )
    assert Site(tmp_path, f'LogFormat "{item}" n\n').check() == "Syntax OK"


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    text = Site(tmp_path, "CustomLog /nosuch/a x\nTransferLog /nosuch/b\n").check()
    missing = (
        "(2)No such file or directory: AH02297: Cannot access directory '/nosuch/' for log file "
        "'/nosuch/{}' defined at @/conf/httpd.conf:{}"
    )
    assert text.splitlines() == [
        missing.format("a", 1),
        missing.format("b", 2),
        "AH00014: Configuration check failed",
    ]


VHOSTS = """LogFormat "main %U" named
CustomLog logs/main named
GlobalLog logs/everywhere "%v"
<VirtualHost *:80>
ServerName own
CustomLog logs/own named
LogFormat "late %U" named
TransferLog logs/transfer
</VirtualHost>
<VirtualHost *:80>
ServerName bare
</VirtualHost>
"""


def test_logs_of_virtual_hosts(tmp_path: Path) -> None:
    conf = Site(tmp_path, VHOSTS).load(V24)
    names = [
        [writer.sink.target.rpartition("/")[2] for writer in server_writers(server)]
        for server in conf.servers()
    ]
    assert names == [["main", "everywhere"], ["own", "transfer", "everywhere"], ["main", "everywhere"]]
    own = server_writers(conf.virtual_hosts[0])
    assert own[0].items[0] == "late "
    assert "".join(p if isinstance(p, str) else "*" for p in own[1].items) == '* * * * "*" * *'


def test_cookie_log_of_22(tmp_path: Path) -> None:
    conf = Site(tmp_path, "LoadModule log_config_module m/mod_log_config.so\nCookieLog logs/c\n").load(V22)
    assert "".join(p if isinstance(p, str) else "*" for p in server_writers(conf.main)[0].items) == '* "*" *'


@pytest.mark.parametrize(("conf", "merged"), [("", "-"), ("MergeTrailers On\n", "a, b")])
def test_fields_behind_a_body(tmp_path: Path, conf: str, merged: str) -> None:
    serving = build_engine(
        tmp_path, f"{conf}LogFormat '%{{X-T}}i|%{{X-T}}^ti|%{{X-T}}^to' f\nCustomLog logs/log f", FILES
    )
    head = b"POST /a.txt HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80)).send(
        head + b"3\r\nabc\r\n0\r\nX-T: a\r\nX-T: b\r\n\r\n"
    )
    assert lines(serving) == [f"{merged}|a, b|-"]


@pytest.mark.parametrize(
    ("sent", "logged"),
    [
        ("GET http://u:p@localhost/a.txt HTTP/1.1\r\n", "GET http://u:XXXXXXXX@localhost/a.txt HTTP/1.1"),
        ("GET http://u:p@localhost/a.txt FOO/1.1\r\n", "GET http://u:XXXXXXXX@localhost/a.txt HTTP/1.0"),
        ("CONNECT http://u:p@localhost/a.txt HTTP/11.1\r\n", "CONNECT http://u:p@localhost/a.txt HTTP/11.1"),
        ("GET http://u:p@localhost/a.txt HTTP/1.1\n", r"GET http://u:p@localhost/a.txt HTTP/1.1\n"),
    ],
)
def test_a_password_in_a_target_that_is_understood_is_not_shown(
    tmp_path: Path, sent: str, logged: str
) -> None:
    """Lines as 2.4.71 logs them."""
    serving = build_engine(tmp_path, "LogFormat '%r' f\nCustomLog logs/log f", FILES)
    TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80)).send(f"{sent}Host: x\r\n\r\n".encode())
    assert lines(serving) == [logged]


@pytest.mark.parametrize(("path", "status"), [("a.txt", 200), ("none", 404)])
def test_passwords_are_not_told_however_often_they_come(tmp_path: Path, path: str, status: int) -> None:
    serving = build_engine(
        tmp_path,
        "HttpProtocolOptions Unsafe\nErrorDocument 404 /err.html\nLogFormat '%r %s' f\nCustomLog logs/log f",
        FILES,
    )
    head = f"GET http://u:p@localhost/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    for _ in range(4):
        TestClient(serving, Connection("127.0.0.1", 5, "127.0.0.1", 80)).send(head)
    assert lines(serving) == [f"GET http://u:XXXXXXXX@localhost/{path} HTTP/1.1 {status}"] * 4
