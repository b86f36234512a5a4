"""Sites of the public API: answers, explanations, findings and upgrades of real files.

The expected answers are those of httpd 2.4.71: mod_alias's statuses, Require by address, Basic, 404, 403.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
import threading
import time
import typing
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, write_site

import whimbrel.api
from whimbrel.api import Answer, ConfigurationError, Line, Request, RequestError, Site, load
from whimbrel.api.loaded_site import MAX_BODY

OLD = """ServerRoot "@ROOT@"
Listen 80
ServerName localhost
DocumentRoot "@ROOT@/htdocs"
<Directory "@ROOT@/htdocs">
    Order allow,deny
    Allow from all
</Directory>
"""
ADMITTED = "<Directory @ROOT@/cgi>\nRequire all granted\n</Directory>\n"


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    return write_site(tmp_path)


def test_a_file_is_answered_with_its_head_and_body(conf: Path) -> None:
    answer = load(conf).get("/")
    assert (answer.status, answer.body, answer.location) == (200, b"hello\n", "")
    assert answer.header("content-length") == "6" and answer.header("x-site") == "main"
    assert answer.header("X-Nothing") is None
    assert answer.file == str(conf.parent / "htdocs/index.html")
    date = answer.header("Date") or ""
    assert re.fullmatch(r"\w{3}, \d\d \w{3} 20\d\d \d\d:\d\d:\d\d GMT", date)


def test_requests_have_clients_hosts_users_fields_and_methods(conf: Path) -> None:
    site = load(conf)
    assert site.get("/old/x").location == "http://localhost/new/x"
    assert site.get("/private/x.html").status == 401
    assert site.get("/private/x.html", client="10.0.0.7").status == 200
    assert site.get("/private/x.html", user="alice").user == "alice"
    assert site.get("/nope", host="a.example").status == 403
    assert site.get("http://a.example/nope").status == 403
    head = site.get("/", method="HEAD")
    assert (head.status, head.body) == (200, b"")
    tag = site.get("/").header("ETag") or ""
    assert tag and site.get("/", headers={"If-None-Match": tag}).status == 304


def test_a_password_is_compared_with_the_file(tmp_path: Path) -> None:
    conf = write_site(tmp_path)
    # {SHA} of "secret", as htpasswd -s writes it
    (tmp_path / "users").write_text("alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n")
    site = load(conf)
    assert site.get("/private/x.html", user="alice", password="secret").status == 200
    assert site.get("/private/x.html", user="alice", password="guess").status == 401
    assert site.get("/private/x.html", user="alice", password="").status == 401


@pytest.mark.parametrize(("path", "module"), [("/cgi-bin/x", "mod_cgid"), ("/app/x", "mod_proxy")])
def test_what_a_program_or_back_end_decides_has_no_status(tmp_path: Path, path: str, module: str) -> None:
    script = tmp_path / "cgi/x"
    conf = write_site(tmp_path, CONF + ADMITTED)
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    script.chmod(0o755)
    site = load(conf)
    answer = site.get(path)
    assert answer == Answer(None, not_run=module)
    explanation = site.explain(path)
    assert explanation.answer == answer and "would run a program" in explanation.sentence
    assert not (tmp_path / "started").exists()


def test_an_explanation_names_the_lines(conf: Path) -> None:
    explanation = load(conf).explain(Request("/old/x"))
    number = conf.read_text().splitlines().index("Redirect /old /new") + 1
    assert explanation.lines == (Line(str(conf), number, "Redirect /old /new"),)
    assert explanation.answer.status == 302 and explanation.dialect == "2.4"
    assert str(explanation).startswith("302 Found to http://localhost/new/x")
    assert f"because  Redirect /old /new  httpd.conf:{number}" in str(explanation)
    assert explanation.steps[0].kind == "request"
    assert str(explanation.lines[0]) == f"{conf}:{number}: Redirect /old /new"


def test_a_changed_file_is_seen_by_the_next_request(conf: Path) -> None:
    site = load(conf)
    page = conf.parent / "htdocs/index.html"
    access = conf.parent / "htdocs/private/.htaccess"
    assert site.get("/").body == b"hello\n" and site.get("/private/x.html", client="10.0.0.7").status == 200
    page.write_text("other text\n")
    access.write_text("Require all denied\n")
    assert site.get("/").body == b"other text\n"
    assert site.get("/private/x.html", client="10.0.0.7").status == 403
    assert site.explain(Request("/private/x.html", client="10.0.0.7")).answer.status == 403
    page.unlink()
    assert site.get("/index.html").status == 404


def test_each_request_has_its_own_time(conf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = load(conf)
    dates = []
    for seconds in (1_000_000_000, 1_000_003_600):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: float(seconds))
        dates.append(site.get("/").header("Date"))
    assert dates == ["Sun, 09 Sep 2001 01:46:40 GMT", "Sun, 09 Sep 2001 02:46:40 GMT"]


def test_the_body_of_an_answer_is_bounded(conf: Path) -> None:
    with (conf.parent / "htdocs/large.html").open("wb") as file:
        file.truncate(MAX_BODY + 10)
    answer = load(conf).get("/large.html")
    assert answer.is_cut and len(answer.body) == MAX_BODY
    assert answer.header("content-length") == str(MAX_BODY + 10)
    assert not load(conf).get("/").is_cut


def test_a_site_answers_within_an_event_loop_and_in_threads(conf: Path) -> None:
    site = load(conf)

    async def answered() -> int | None:
        return site.get("/").status

    assert asyncio.run(answered()) == 200
    found: list[int | None] = []
    threads = [threading.Thread(target=lambda: found.append(site.get("/").status)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 8


@pytest.mark.parametrize(
    "request_",
    [
        Request("/a b"),
        Request("ftp://a.example/"),
        Request("/", method="GET /x"),
        Request("/", headers={"X": "a\r\nY: b"}),
        Request("/", headers={"X: y": "a"}),
        Request("/", host="a\r\nX: b"),
        Request("/", user="a:b", password="c"),
        Request("http://[::1/"),
    ],
)
def test_values_that_describe_no_request(conf: Path, request_: Request) -> None:
    with pytest.raises(RequestError):
        load(conf).answer(request_)


def test_a_line_that_httpd_refuses_is_named(conf: Path) -> None:
    conf.write_text(conf.read_text() + "Bogus on\n")
    site = load(conf)
    with pytest.raises(ConfigurationError) as caught:
        site.get("/")
    lines = len(conf.read_text().splitlines())
    assert (caught.value.path, caught.value.line) == (str(conf), lines)
    assert "Invalid command 'Bogus'" in caught.value.message and str(conf) in str(caught.value)
    with pytest.raises(ConfigurationError):
        site.explain("/")
    assert any("Bogus" in finding.message for finding in site.check().findings)


def test_an_included_line_that_httpd_refuses_is_named(conf: Path) -> None:
    part = conf.parent / "part.conf"
    part.write_text("Listen 81\nBogus on\n")
    conf.write_text(conf.read_text() + f"Include {part}\n")
    with pytest.raises(ConfigurationError) as caught:
        load(conf).get("/")
    assert (caught.value.path, caught.value.line) == (str(part), 2)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as missing:
        load(tmp_path / "no.conf")
    assert str(missing.value) == f"{tmp_path}/no.conf: No such file or directory"
    assert (missing.value.path, missing.value.line) == (f"{tmp_path}/no.conf", 0)
    with pytest.raises(ConfigurationError):
        load(tmp_path)
    with pytest.raises(ConfigurationError) as device:
        load("/dev/null")
    assert device.value.message == "not a regular file"
    with pytest.raises(ValueError, match="dialect"):
        load(write_site(tmp_path), dialect="2.5")  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\0\0\0", "Listen 80\n".encode("utf-16"), b"\xff" * 99])
def test_a_file_that_is_no_text_is_a_configuration_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "httpd.conf"
    path.write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        load(path).get("/")
    assert caught.value.path == str(path)
    assert str(caught.value).isprintable() or "\n" in str(caught.value)


def test_check_and_upgrade_have_findings_with_edits(tmp_path: Path) -> None:
    conf = write_site(tmp_path, OLD)
    site = load(conf, dialect="2.2")
    report = site.check()
    finding = next(one for one in report.findings if one.rule == "C17")
    assert finding.file == str(conf) and finding.edit is not None
    assert "Order allow,deny" in finding.edit.old[0][1] and finding.edit.new == ("Require all granted",)
    assert finding.edit.old[0][0] == conf.read_text().splitlines().index("    Order allow,deny") + 1
    assert str(conf) in report.files and report.lines > 25
    assert [one.rule for one in site.check(select=["C17"]).findings] == ["C17"]
    assert not [one for one in site.check(ignore=["C17"]).findings if one.rule == "C17"]
    with pytest.raises(ValueError, match="no rule has the number"):
        site.check(select=["C999"])
    plan = site.upgrade(verify=False)
    change = next(one for one in plan.changes if one.file == str(conf))
    assert change.old == conf.read_bytes() and b"Require all granted" in change.new
    assert b"-    Order allow,deny" in change.diff and any(edit.file == str(conf) for edit in plan.edits)
    with pytest.raises(ValueError, match="target"):
        site.upgrade(target="2.5")


def public_types() -> set[type]:
    return {value for value in vars(whimbrel.api).values() if isinstance(value, type)}


def test_signatures_name_no_type_of_another_package() -> None:
    named: set[str] = set()
    for name in whimbrel.api.__all__:
        value = getattr(whimbrel.api, name)
        members = [value] if inspect.isfunction(value) else [m for k, m in vars(value).items() if k[0] != "_"]
        members += [value.__init__] if inspect.isclass(value) else []
        members = [m.fget if isinstance(m, property) else m for m in members]
        hints = [typing.get_type_hints(m) for m in members if inspect.isfunction(m)]
        if dataclasses.is_dataclass(value):
            hints.append(typing.get_type_hints(value))
        for hint in hints:
            named |= set(re.findall(r"whimbrel[\w.]*", " ".join(map(repr, hint.values()))))
    assert named and all(name.startswith("whimbrel.api.") for name in named), sorted(named)


def test_the_public_values_are_frozen() -> None:
    for kind in public_types() - {Site} - {t for t in public_types() if issubclass(t, Exception)}:
        assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen, kind  # type: ignore[attr-defined]
