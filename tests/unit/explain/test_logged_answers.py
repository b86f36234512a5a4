"""Explanations of logged requests. The lines and statuses are those of apache2 for the same site."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, side_of, write_site
from typer.testing import CliRunner

from whimbrel.cli import explain
from whimbrel.explain.explanation import explain_probe
from whimbrel.explain.logged_answers import LoggedOutcome, probes_of
from whimbrel.verify.probe import Probe, ProbeUser

TEAM = """LoadModule authz_groupfile_module modules/mod_authz_groupfile.so
<Directory "@ROOT@/htdocs/team">
    AuthType Basic
    AuthName team
    AuthUserFile "@ROOT@/users"
    AuthGroupFile "@ROOT@/groups"
    Require group staff
</Directory>
"""
DENIED = Probe("/no", host="q")
LOGGED = "[29/Nov/2026:14:59:25 +0000]"
USERS = "robin:$apr1$10NrngW1$jIyIkn8WJ.yHlnjGYkKhI/\nalice:$apr1$KVZAtNoT$dH/91Z8nYblIlWmJPCyph/\n"


@pytest.fixture
def here(tmp_path: Path) -> tuple[str, ...]:
    file = write_site(tmp_path, CONF + TEAM)
    (tmp_path / "htdocs/team").mkdir()
    (tmp_path / "htdocs/team/index.html").write_text("team\n")
    (tmp_path / "users").write_text(USERS)
    (tmp_path / "groups").write_text("staff: alice\n")
    return "-d", str(tmp_path), "-f", str(file)


def lines_of(line: str, here: tuple[str, ...]) -> list[str]:
    found = CliRunner().invoke(explain.app, [line, *here])
    return str(found.stdout).split("\n")


def access_line(user: str, status: int) -> str:
    return f'127.0.0.1 - {user} {LOGGED} "GET /team/ HTTP/1.1" {status} 421'


def test_the_right_password_does_not_explain_a_401(here: tuple[str, ...]) -> None:
    lines = lines_of(access_line("alice", 401), here)
    assert lines[0].startswith(
        "the log has 401; with the right password the answer is 200 OK: then the password"
    )
    assert lines[1].startswith("401 Unauthorized ") and "as alice with a wrong password" in lines[1]
    assert lines[2].split()[:2] == ["because", "AuthUserFile"]


def test_a_user_whom_no_file_has_is_not_found(here: tuple[str, ...]) -> None:
    lines = lines_of(access_line("nobody", 401), here)
    assert lines[0].startswith("401 Unauthorized ")
    assert lines[1].split()[:2] == ["because", "AuthUserFile"]
    assert lines[2].strip() == "user nobody not found: /team/"


def test_a_user_whom_no_line_admits(here: tuple[str, ...]) -> None:
    lines = lines_of(access_line("robin", 401), here)
    assert lines[0] == "a wrong password has the same status; the error log has AH01617 for it"
    assert lines[2].startswith("because  Require group staff")
    assert lines[3].strip() == "robin is authenticated, and no line admits robin"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (206, "the client asked for a part (Range)"),
        (304, "the client had a copy"),
        (400, "the request had a fault"),
        (408, "the client was too slow"),
        (412, "the client had a condition"),
        (416, "the client asked for a part that the file does not have"),
        (417, "the client sent Expect"),
        (503, "the configuration or a file was another one then"),
    ],
)
def test_another_status_than_the_logged_one_is_said_first(
    here: tuple[str, ...], status: int, reason: str
) -> None:
    """With the field of RFC 9110, 15, that gives it and that no line of a log has."""
    lines = lines_of(access_line("alice", status), here)
    expected = f"the log has {status}, the configuration as it stands answers 200 OK: {reason}"
    assert lines[0].startswith(expected)
    assert lines[1].startswith("200 OK ")


def test_the_logged_status_needs_no_word(here: tuple[str, ...]) -> None:
    assert lines_of(access_line("alice", 200), here)[0].startswith("200 OK ")


def error_line(message: str) -> str:
    return f"[Sun Nov 29 14:59:25.113001 2026] [m:error] [pid 1:tid 2] [client 127.0.0.1:48278] {message}"


@pytest.mark.parametrize(
    ("message", "line", "sentence"),
    [
        ('AH01617: user robin: authentication failure for "/team/": Password Mismatch', "AuthUserFile",
         'user robin: authentication failure for "/team/": Password Mismatch'),
        ("AH01618: user nobody not found: /team/", "AuthUserFile", "user nobody not found: /team/"),
        ('AH01631: user robin: authorization failure for "/team/": ', "Require",
         "robin is authenticated, and no line admits robin"),
    ],
)  # fmt: skip
def test_an_error_line_is_explained_as_its_user(
    here: tuple[str, ...], message: str, line: str, sentence: str
) -> None:
    """As WHAT and by option alike, with the meaning of the code."""
    lines = lines_of(error_line(message), here)
    assert lines[0].startswith("401 Unauthorized ")
    assert lines[1].split()[:2] == ["because", line]
    assert lines[2].strip() == sentence
    assert [one for one in lines if one.startswith(f"{message[:7]}        ")]
    by_option = CliRunner().invoke(explain.app, ["--error-log-line", error_line(message), *here])
    assert by_option.stdout.split("\n") == lines


def test_an_error_line_that_does_not_come_is_said_first(here: tuple[str, ...]) -> None:
    lines = lines_of(error_line('AH01631: user alice: authorization failure for "/team/": '), here)
    expected = (
        "the message of the line (AH01631) does not come here, the configuration as it stands answers 200"
    )
    assert lines[0].startswith(expected)


def test_an_answer_that_is_not_decided_agrees_with_each(tmp_path: Path) -> None:
    """What the handler decides cannot be compared."""
    found = explain_probe(side_of(tmp_path), Probe("/app/x", host="q"))
    assert found.status is None and LoggedOutcome(502).agrees(found)


@pytest.mark.parametrize(
    ("code", "level", "agrees"),
    [
        ("AH01276", "error", False),
        ("AH01276", "crit", False),
        ("AH01276", "warn", True),  # may be of a level that is not shown here
        ("AH01276", "", True),
        ("", "error", True),  # 2.2 has no codes
        ("AH01630", "error", True),
    ],
)
def test_a_message_agrees_unless_an_error_does_not_come(
    tmp_path: Path, code: str, level: str, agrees: bool
) -> None:
    found = explain_probe(side_of(tmp_path, f"{CONF}<Location /no>\nRequire all denied\n</Location>"), DENIED)
    assert found.status == 403
    assert LoggedOutcome(code=code, level=level).agrees(found) is agrees


def test_a_right_password_comes_first_unless_no_file_has_the_user() -> None:
    probe = Probe("/", user=ProbeUser("alice", is_assumed=True))
    assert probes_of(probe, LoggedOutcome(200), lambda _name: False) == [probe]
    wrong = ProbeUser("alice", is_password_valid=False, is_assumed=True)
    assert [one.user for one in probes_of(probe, LoggedOutcome(401), lambda _name: None)] == [
        probe.user,
        wrong,
    ]
    unknown = probes_of(probe, LoggedOutcome(401), lambda _name: False)
    assert [one.user for one in unknown] == [ProbeUser("alice"), probe.user]
