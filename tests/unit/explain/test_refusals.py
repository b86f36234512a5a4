"""Answers of the core: a setting that decided is named, by its line or as a default.

The statuses, and the lines of the error log under `LogLevel debug` whose reasons they are, are apache2's.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of, step

from whimbrel.explain.cause import cause_of
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.request_description import RequestDescription, probe_of
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side

MAIN = CONF.split("<VirtualHost")[0]
MANY = tuple((f"X{number}", "a") for number in range(120))


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> Side:
    root = tmp_path_factory.mktemp("site")
    (root / "htdocs/empty").mkdir(parents=True)
    return side_of(root, MAIN)


@pytest.mark.parametrize(
    ("probe", "status", "sentence"),
    [
        (Probe("/index.html/xx", host="q"), 404, "takes no path behind its name: default of AcceptPathInfo"),
        (Probe("/a%2Fb", host="q"), 404, "%2F, an encoded slash: default of AllowEncodedSlashes (Off)"),
        (Probe("/%00", host="q"), 404, "the path has %00"),
        (Probe("/index.html", "PUT", host="q"), 405, "no module takes PUT"),
        (Probe(f"/{'a' * 9000}", host="q"), 414, "default of LimitRequestLine (8190)"),
        (Probe("/", host="q", fields=(("X", "a" * 9000),)), 400, "default of LimitRequestFieldSize (8190)"),
        (Probe("/", host="q", fields=MANY), 400, "default of LimitRequestFields (100)"),
        (Probe("/"), 400, "needs a Host field"),
        (Probe("/", host="q", fields=(("Bad Name", "x"),)), 400, "default of HttpProtocolOptions (Strict)"),
        (Probe("/", host="q", fields=(("Transfer-Encoding", "foo"),)), 400, "Transfer-Encoding (foo)"),
        (Probe("/", host="q", fields=(("Expect", "foo"),)), 417, "unrecognized expectation"),
        (Probe("/index.html", host="q", fields=(("If-Match", '"x"'),)), 412, "a condition of the request"),
        (Probe("/index.html", host="q", fields=(("Range", "bytes=99-"),)), 416, "Range asks for a part"),
        (Probe("/index.html", host="q", fields=(("Range", "bytes=0-1"),)), 206, "that Range asks for"),
        (Probe("/index.html", host="q", fields=(("If-None-Match", "*"),)), 304, "still valid: no body"),
        (Probe("/index.html", "HEAD", host="q"), 200, "the head of the answer"),
        (Probe("/index.html", "OPTIONS", host="q"), 200, "the methods are listed"),
        (Probe("/", "TRACE", host="q"), 200, "TraceEnable is on, which is the default"),
    ],
)  # fmt: skip
def test_a_default_or_the_request_decides(side: Side, probe: Probe, status: int, sentence: str) -> None:
    found = explain_probe(side, probe)
    assert found.status == status
    assert sentence in cause_of(found).sentence


def test_encoded_slashes_of_the_main_server_do_not_hold_in_virtual_hosts(tmp_path: Path) -> None:
    conf = f"{MAIN}AllowEncodedSlashes On\n<VirtualHost *>\nServerName q\n</VirtualHost>\n"
    cause = cause_of(explain_probe(side_of(tmp_path, conf), Probe("/a%2Fb", host="q")))
    assert [line.text for line in cause.lines] == ["AllowEncodedSlashes On"]
    assert "does not hold in virtual hosts" in cause.sentence


@pytest.mark.parametrize(
    ("line", "probe", "status"),
    [
        ("TraceEnable off", Probe("/", "TRACE", host="q"), 405),
        ("AllowEncodedSlashes Off", Probe("/a%2Fb", host="q"), 404),
        ("LimitRequestFields 3", Probe("/", host="q", fields=MANY[:9]), 400),
        ("LimitRequestLine 100", Probe(f"/{'a' * 200}", host="q"), 414),
        ("StrictHostCheck On", Probe("/", host="other.example"), 400),
        ("AcceptPathInfo Off", Probe("/index.html/xx", host="q"), 404),
        ("DirectorySlash Off", Probe("/private", host="q", client="10.0.0.1"), 404),
    ],
)
def test_a_line_that_sets_it_decides(tmp_path: Path, line: str, probe: Probe, status: int) -> None:
    found = explain_probe(side_of(tmp_path, f"{MAIN}{line}\n"), probe)
    assert found.status == status
    assert [one.text for one in cause_of(found).lines] == [line]


def test_a_directory_without_an_index_file(side: Side, tmp_path: Path) -> None:
    cause = cause_of(explain_probe(side, Probe("/empty/", host="q")))
    assert [one.text for one in cause.lines] == ["DirectoryIndex index.html"]
    assert cause.sentence.endswith("(index.html), and mod_autoindex, which lists files, is not loaded")
    (tmp_path / "htdocs/empty").mkdir(parents=True)
    plain = side_of(tmp_path, MAIN.replace("DirectoryIndex index.html\n", ""))
    cause = cause_of(explain_probe(plain, Probe("/empty/", host="q")))
    assert "(index.html, the default)" in cause.sentence


def test_a_method_that_a_module_refuses(tmp_path: Path) -> None:
    loads = "LoadModule allowmethods_module modules/mod_allowmethods.so\n"
    more = "<Location />\nAllowMethods GET\n</Location>\n"
    cause = cause_of(explain_probe(side_of(tmp_path, loads + MAIN + more), Probe("/", "POST", host="q")))
    assert [one.text for one in cause.lines] == ["AllowMethods GET"]
    assert cause.sentence.startswith("client method denied by server configuration: 'POST' to ")


def test_a_refused_index_file_is_the_cause_for_its_directory(tmp_path: Path) -> None:
    more = "<Files *.html>\nRequire all denied\n</Files>\n"
    found = explain_probe(side_of(tmp_path, MAIN + more), Probe("/", host="q"))
    assert found.status == 403
    assert [one.text for one in cause_of(found).lines] == ["Require all denied"]


def test_an_error_document_elsewhere_has_the_cause_of_the_error(tmp_path: Path) -> None:
    more = "ErrorDocument 403 http://other/x\n<Location /c>\nRequire all denied\n</Location>\n"
    found = explain_probe(side_of(tmp_path, MAIN + more), Probe("/c", host="q"))
    assert (found.status, found.location) == (302, "http://other/x")
    cause = cause_of(found)
    assert [one.text for one in cause.lines] == ["ErrorDocument 403 http://other/x", "Require all denied"]
    assert cause.sentence.startswith("the client is sent there in the place of 403 Forbidden; ")


def test_the_lines_that_led_to_another_file(tmp_path: Path) -> None:
    more = 'FallbackResource /index.html\n<Directory "@ROOT@/cgi">\nRequire all granted\n</Directory>\n'
    action = "AddHandler x .foo\nAction x /cgi-bin/act\n"
    side = side_of(tmp_path, MAIN + more + action)
    (tmp_path / "htdocs/a.foo").touch()
    (tmp_path / "cgi").mkdir()
    (tmp_path / "cgi/act").touch()
    texts = [one.text for one in cause_of(explain_probe(side, Probe("/none", host="q"))).lines]
    assert texts[0] == "FallbackResource /index.html"
    texts = [one.text for one in cause_of(explain_probe(side, Probe("/a.foo", host="q"))).lines]
    assert texts[0] == "Action x /cgi-bin/act"


def test_the_reason_is_no_line_of_the_error_log(side: Side) -> None:
    """The server would log it at level info, and its LogLevel is warn."""
    found = explain_probe(side, Probe("/a%2Fb", host="q"))
    assert step(found, "reason").what.startswith("the path has %2F")
    assert found.log_lines() == []


@pytest.mark.parametrize("more", ["", 'ErrorDocument 403 "no entry"\nErrorDocument 404 /index.html\n'])
def test_an_error_document_is_no_cause(tmp_path: Path, more: str) -> None:
    """It gives the body of an answer, never its status (AH00037, AH00026)."""
    closed = f'<Directory "@ROOT@/htdocs">\nOptions Indexes\n</Directory>\n{more}'
    (tmp_path / "htdocs").mkdir()
    (tmp_path / "htdocs/link").symlink_to(tmp_path / "mime.types")
    (tmp_path / "htdocs/dangling").symlink_to(tmp_path / "none")
    side = side_of(tmp_path, MAIN + closed)
    cause = cause_of(explain_probe(side, Probe("/link", host="q")))
    assert [one.text for one in cause.lines] == ["Options Indexes"]
    open_side = side_of(tmp_path, MAIN + more)
    cause = cause_of(explain_probe(open_side, Probe("/dangling", host="q")))
    assert cause.lines == () and cause.sentence.endswith("htdocs/dangling cannot be read")
    cause = cause_of(explain_probe(side, Probe("/a%2fb", host="q")))
    assert cause.lines == () and "AllowEncodedSlashes" in cause.sentence


def test_the_line_that_makes_the_answer_comes_before_those_that_grant(tmp_path: Path) -> None:
    loads = "LoadModule autoindex_module modules/mod_autoindex.so\n"
    more = '<Directory "@ROOT@/htdocs/empty">\nOptions Indexes\n</Directory>\n'
    (tmp_path / "htdocs/empty").mkdir(parents=True)
    found = explain_probe(side_of(tmp_path, loads + MAIN + more), Probe("/empty/", host="q"))
    cause = cause_of(found)
    assert [one.text for one in cause.lines] == ["Options Indexes"]
    assert [one.text for one in cause.granting] == ["Require all granted"]
    assert [one.text for one in cause.all_lines] == ["Options Indexes", "Require all granted"]


def test_the_name_of_a_client(tmp_path: Path) -> None:
    more = "<Location /named>\nRequire host example.com\n</Location>\n"
    side = side_of(tmp_path, MAIN + more)
    probe = Probe("/named", host="q")
    assert explain_probe(side, probe).status == 403
    described = RequestDescription("/named", "q", client_host="pc.example.com")
    assert explain_probe(side, probe_of(described, side.configuration)).status == 404
