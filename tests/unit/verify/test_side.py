"""Sides: loading errors as data, answers without effects, lines that decided."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.engine.request import Request
from whimbrel.verify.answer import DECIDES
from whimbrel.verify.probe import Probe, ProbeUser


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def probe(target: str, **facts: object) -> Probe:
    return Probe(target, host="localhost", address="127.0.0.1", port=8080, **facts)  # type: ignore[arg-type]


def test_an_answer_has_the_state_that_led_to_it(root: Path) -> None:
    answer = side(root, "new", 'SetEnv KIND "a b"', "2.4").answer(probe("/"))
    assert (answer.status, answer.file, answer.length) == (200, f"{root}/htdocs/index.html", 5)
    assert answer.field("content-type") == ("text/html",) and ("KIND", "a b") in answer.environment


def test_errors_of_loading_are_data(root: Path) -> None:
    found = side(root, "new", "<Location /a>\nRequire\n</Location>", "2.4")
    assert not found.is_loaded and found.errors[0].place is not None
    assert found.errors[0].text.startswith("AH00526: Syntax error on line")


BASIC = """<Location /private>
AuthType %s
AuthName x
AuthUserFile conf/%s
AuthGroupFile conf/groups
Require group admin
</Location>"""


def test_passwords_are_right_or_wrong_as_the_probe_says(root: Path) -> None:
    found = side(root, "new", BASIC % ("Basic", "users"), "2.4")
    users = (
        (ProbeUser("alice"), 200),
        (ProbeUser("alice", is_password_valid=False), 401),
        (ProbeUser("bob"), 401),
        (ProbeUser("nobody"), 401),
        (ProbeUser("nobody", is_assumed=True, groups=("admin",)), 200),
        (ProbeUser("nobody", is_assumed=True), 401),
    )
    for user, status in users:
        assert found.answer(probe("/private/", user=user)).status == status, user


def test_digest_credentials_answer_the_challenge(root: Path) -> None:
    (root / "conf/digest").write_text("alice:x:0123456789abcdef0123456789abcdef\n")
    text = (BASIC % ("Digest", "digest")).replace("Require group admin", "Require valid-user")
    found = side(root, "new", text, "2.4", "auth_digest")
    assert found.answer(probe("/private/", user=ProbeUser("alice", "digest"))).status == 200
    assert found.answer(probe("/private/", user=ProbeUser("alice", "digest", False))).status == 401
    # RFC 2069 clients: 2.4 demands qop, 2.2 does not (recorded: authz-pw-0021)
    assert found.answer(probe("/private/", user=ProbeUser("alice", "digest without qop"))).status == 401
    old = side(root, "old", text, "2.2", "auth_digest")
    assert old.answer(probe("/private/", user=ProbeUser("alice", "digest without qop"))).status == 200


def test_no_program_is_started(root: Path) -> None:
    script = root / "htdocs/private/run.cgi"
    script.write_text(f"#!/bin/sh\ntouch {root}/started\n")
    script.chmod(0o755)
    text = '<Directory "@ROOT@/htdocs/private">\nOptions ExecCGI\nSetHandler cgi-script\n</Directory>'
    answer = side(root, "new", text, "2.4", "cgi").answer(probe("/private/run.cgi"))
    assert answer.status == 200 and answer.handler == "cgi-script"
    assert not (root / "started").exists()


def test_no_back_end_is_contacted(root: Path) -> None:
    found = side(root, "new", "ProxyPass /app http://127.0.0.1:9/", "2.4", "proxy", "proxy_http")
    answer = found.answer(probe("/app/x"))
    assert answer.status == 503 and answer.file.startswith("proxy:http://127.0.0.1:9/")
    assert found.runtime.backends == [("127.0.0.1", 9)]


def test_the_lines_that_decided(root: Path) -> None:
    found = side(root, "new", "<Location /private>\nRequire ip 10.0.0.0/8\n</Location>", "2.4")
    answer = found.answer(probe("/private/"), with_lines=True)
    assert answer.status == 403
    assert ("Require ip 10.0.0.0/8", "denied") in [(one.text, one.verdict) for one in answer.lines]
    assert {one.line for one in answer.lines if one.role == "section"} == {
        number
        for number, line in enumerate((root / "conf/new.conf").read_text().splitlines(), 1)
        if "<Location" in line
    }


def test_what_a_handler_looks_up_does_not_replace_what_decided(root: Path) -> None:
    """mod_dir looks up the index file of a directory behind the access check; PUT then gets 405."""
    lists = "Order allow,deny\nAllow from all\nDeny from 10.9.0.0/16"
    found = side(root, "old", f"<Location /private>\n{lists}\n</Location>", "2.2")
    answer = found.answer(probe("/private/", method="PUT"), with_lines=True)
    assert answer.status == 405
    decide = [line.text for line in answer.lines if line.role == DECIDES]
    assert decide == ["Order allow,deny", "Allow from all"]


@pytest.mark.parametrize(
    ("rules", "user", "decide"),
    [
        ("<RequireAll>\nRequire valid-user\nRequire ip 10.1\n</RequireAll>", "bob", ["Require ip 10.1"]),
        ("<RequireAll>\nRequire valid-user\nRequire ip 10.1\n</RequireAll>", None, ["Require ip 10.1"]),
        ("<RequireAll>\nRequire user bob\nRequire all granted\n</RequireAll>", None, ["Require user bob"]),
        (
            "<RequireAll>\nRequire valid-user\n<RequireNone>\n"
            "Require user bob\n</RequireNone>\n</RequireAll>",
            "bob",
            ["Require not user bob"],
        ),
        (
            "<RequireAll>\n<RequireAny>\nRequire ip 10.0.0.0/8\nRequire user bob\n</RequireAny>\n"
            "Require group admin\n</RequireAll>",
            "bob",
            ["Require group admin"],
        ),
        ("Require user alice\nRequire group admin", "bob", ["Require user alice", "Require group admin"]),
    ],
)
def test_lines_that_decide_led_to_the_result(
    root: Path, rules: str, user: str | None, decide: list[str]
) -> None:
    """Of lines that are combined, those decide whose results the combination took over: httpd's tables of
    <RequireAll> and <RequireAny>. <RequireNone> in <RequireAll> is its lines negated."""
    files = "AuthType Basic\nAuthName x\nAuthUserFile conf/users\nAuthGroupFile conf/groups"
    conf = f"<Location /private>\n{files}\n{rules}\n</Location>"
    found = side(root, "new", conf, "2.4")
    answer = found.answer(probe("/private/", user=None if user is None else ProbeUser(user)), with_lines=True)
    assert answer.status in (401, 403)
    assert [line.text for line in answer.lines if line.role == DECIDES] == decide


def test_looks_at_files_are_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whimbrel.verify.probe_engine.MAX_FILES", 50)
    found = side(root, "new", "", "2.4")
    for number in range(300):
        assert found.answer(probe(f"/none{number}")).status == 404
        assert len(found.probing.stat_cache.known) < 50 + 20
        assert len(found.probing.stat_cache.dependencies) < 50 + 20


def test_the_load_of_the_machine_does_not_tell_answers_apart(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page of mod_status and %l of Header show it, and it is another one from run to run."""
    conf = "<Location /status>\nSetHandler server-status\nHeader set X-Load %l\n</Location>"
    answers = []
    for load in (0.25, 7.5):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, load, load))
        answers.append(side(root, "new", conf, "2.4", "status").answer(probe("/status")))
    assert answers[0].status == 200
    assert answers[0].body == answers[1].body
    assert answers[0].field("x-load") == answers[1].field("x-load")


RULES = """RewriteEngine On
RewriteCond %{QUERY_STRING} a
RewriteRule ^/old/(.*)$ /$1 [PT]
RewriteRule ^/gone - [G,E=A:b]
RewriteRule !^/index /none
"""


def test_a_request_ends_with_its_answer(root: Path) -> None:
    """A cycle would keep it until a collection."""
    found = side(root, "new", RULES, "2.4")
    found.answer(probe("/none"))
    gc.collect()
    gc.disable()
    try:
        for target in ("/none", "/", "/gone", "/index.html"):
            found.answer(probe(target))
        left = sum(type(one) is Request for one in gc.get_objects())
    finally:
        gc.enable()
    assert left <= 1  # an engine may keep the last one
