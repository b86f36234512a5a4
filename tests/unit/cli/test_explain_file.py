"""`explain FILE`: each changed place of a file as a diff with its reason, before and after an upgrade."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from whimbrel.cli import explain, upgrade

MAIN = """ServerRoot {root}
LoadModule authz_host_module modules/mod_authz_host.so
NameVirtualHost *:80
Include conf/hosts.conf
"""
HOSTS = """<VirtualHost *:80>
    ServerName a.example
    <Directory /nowhere>
        Order deny,allow
        Deny from all
        Allow from 10.1.2.3
    </Directory>
    RewriteLogLevel 1
</VirtualHost>
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/httpd.conf").write_text(MAIN.format(root=tmp_path))
    (tmp_path / "conf/hosts.conf").write_text(HOSTS)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(explain.app, [*words])


def written(server: Path, *options: str) -> None:
    done = CliRunner().invoke(upgrade.app, ["--write", "--no-verify", *options, "-d", str(server)])
    assert done.exit_code in (0, 3), done.output


@pytest.mark.parametrize("form", ["file", "server", "before", "directory"])
def test_a_file_with_its_changes_and_their_reasons(server: Path, form: str) -> None:
    words = {
        "file": (f"{server}/conf/hosts.conf",),
        "server": ("conf/hosts.conf", str(server)),
        "before": (str(server), "conf/hosts.conf"),
        "directory": ("conf/hosts.conf", "-d", str(server)),
    }[form]
    found = run(*words)
    assert found.exit_code == 0, found.output
    assert "by hand" not in found.stdout
    lines = found.stdout.splitlines()
    assert lines[0] == "conf/hosts.conf: 2 places change"
    start = lines.index("conf/hosts.conf:4-6")
    assert [line.split() for line in lines[start + 1 : start + 6]] == [
        ["3", "|", "<Directory", "/nowhere>"],
        ["4", "-|", "Order", "deny,allow"],
        ["5", "-|", "Deny", "from", "all"],
        ["6", "-|", "Allow", "from", "10.1.2.3"],
        ["4", "+|", "Require", "ip", "10.1.2.3"],
    ]
    assert lines[start + 7].split()[:3] == ["=", "C17", "order-allow-deny:"]
    assert lines[start + 8].strip() == "= nobody gains or loses access"
    assert "= C39 rewrite-log: RewriteLogLevel is gone" in found.stdout
    assert (server / "conf/hosts.conf").read_text() == HOSTS, "explain changes nothing"


def test_the_same_changes_after_the_upgrade(server: Path) -> None:
    before = run("conf/hosts.conf", str(server)).stdout
    written(server)
    after = run("conf/hosts.conf", str(server))
    assert after.exit_code == 0, after.output
    assert after.stdout.splitlines()[0] == "conf/hosts.conf: 2 places are changed"
    assert _places(after.stdout) == _places(before)
    assert f"Next: whimbrel verify --backups {server}" in after.stdout


def test_a_removed_line_has_its_reason_after_the_upgrade(server: Path) -> None:
    written(server)
    text = run("conf/httpd.conf", str(server)).stdout
    place = text[text.index("conf/httpd.conf:3") :]
    assert re.search(r"3 -\| NameVirtualHost \*:80\n(.*\n)*? += C14 name-virtual-host", place)


def test_what_no_rule_wrote_is_said_to_be_of_a_person(server: Path) -> None:
    written(server)
    path = server / "conf/hosts.conf"
    path.write_text(path.read_text().replace("a.example", "b.example"))
    text = run("conf/hosts.conf", str(server)).stdout
    place = text[text.index("conf/hosts.conf:2") :].partition("\n\n")[0]
    assert "+|     ServerName b.example" in place and "no rule accounts for -2, +2" in place
    assert "C17" not in place


def test_a_file_without_changes_and_one_that_no_include_reads(server: Path) -> None:
    (server / "conf/hosts.conf").write_text("ServerAdmin a@example.com\n")
    assert run("conf/hosts.conf", str(server)).stdout.splitlines()[0] == "conf/hosts.conf: 0 places change"
    (server / "notes.conf").write_text("Order allow,deny\n")
    refused = run(f"{server}/notes.conf", "-d", str(server))
    assert refused.exit_code == 2 and "does not read this file" in refused.stderr


@pytest.mark.parametrize("words", [("conf/hosts.conf", "{}"), ("{}", "conf/hosts.conf")])
def test_the_path_of_the_server_is_no_url(
    server: Path, words: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(server)
    found = run(*(word.format(server) for word in words))
    assert found.stdout.startswith("conf/hosts.conf: 2 places change\n")


def test_a_url_beside_a_main_file_stays_a_url(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(server)
    assert "answered with the text that `whimbrel upgrade` writes" in run("/", "conf/httpd.conf").stdout


def test_a_file_that_is_not_there(server: Path) -> None:
    missing = run("conf/none.conf", str(server))
    assert missing.exit_code == 2
    assert missing.stderr == f"'conf/none.conf': no such file here, nor in {server}\n"


def test_questions_come_with_their_answers_until_they_are_recorded(server: Path) -> None:
    """R01: the comment that an answer names above its line ends the question, before and after an upgrade."""
    hosts = server / "conf/hosts.conf"
    rule = "    RewriteRule ^/w/(.*)$ /wiki/$1 [R=301,L]\n"
    hosts.write_text(HOSTS.replace("    RewriteLogLevel 1\n", rule))
    answer = "yes: # whimbrel: ignore[R01] above conf/hosts.conf:8 records it"
    before = run("conf/hosts.conf", str(server)).stdout
    assert f"      {answer}\n" in before
    written(server)
    after = run("conf/hosts.conf", str(server)).stdout
    assert "      yes: # whimbrel: ignore[R01] above conf/hosts.conf:6 records it\n" in after
    lines = hosts.read_text().splitlines(keepends=True)
    assert lines[5] == rule
    hosts.write_text("".join([*lines[:5], "# whimbrel: ignore[R01]\n", *lines[5:]]))
    decided = run("conf/hosts.conf", str(server)).stdout
    assert "R01" not in decided.replace("ignore[R01]", "")


def test_json_has_the_lines_and_the_rules(server: Path) -> None:
    found = json.loads(run("--json", "conf/hosts.conf", str(server)).stdout)
    first = found["places"][0]
    assert first["line"] == 4 and [one["sign"] for one in first["lines"]] == [" ", "-", "-", "-", "+", " "]
    assert [one["rule"] for one in first["reasons"]] == ["C17"]
    assert not found["is_upgraded"]


def test_a_code_stays_a_code_where_a_file_has_its_name(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (server / "C17").write_text("")
    monkeypatch.chdir(server)
    assert run("C17").stdout.startswith("# C17 ")


def _places(text: str) -> list[str]:
    """Return the changed places of *text*, each with its lines and reasons."""
    return [part for part in text.split("\n\n") if re.match(r"\S+:\d+(-\d+)?$", part.partition("\n")[0])]


@pytest.mark.parametrize("seed", range(4))
def test_the_changes_lead_from_the_old_text_to_the_present_one(server: Path, seed: int) -> None:
    """With lines that a person has removed, repeated, moved and added after the upgrade, at random places."""
    choice = random.Random(seed)
    main = server / "conf/hosts.conf"
    main.write_text("".join(HOSTS.replace("10.1.2.3", f"10.1.2.{one}") for one in range(6)))
    old = main.read_text().splitlines()
    written(server)
    present = main.read_text().splitlines()
    for _ in range(choice.randrange(5)):
        at = choice.randrange(len(present))
        line = choice.choice([present.pop(at), "# \x85 by hand", present[0]])
        present[at:at] = [line] * choice.randrange(3)
    main.write_text("\n".join(present) + "\n", encoding="latin-1")
    found = json.loads(run(str(main), "--json").stdout)
    lines = [line for place in found["places"] for line in place["lines"]]
    removed = {line["line"]: line["text"] for line in lines if line["sign"] == "-"}
    added = {line["line"]: line["text"] for line in lines if line["sign"] == "+"}
    assert all(old[number - 1] == text for number, text in removed.items())
    assert all(present[number - 1] == text for number, text in added.items())
    kept = [line for number, line in enumerate(old, 1) if number not in removed]
    assert kept == [line for number, line in enumerate(present, 1) if number not in added]


MOVED = """ServerRoot {root}
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule authn_file_module modules/mod_authn_file.so
LoadModule auth_basic_module modules/mod_auth_basic.so
<Location /svn/>
    Order deny,allow
    Deny from all
    Allow from 10.20
</Location>
<Location /svn/private/>
    AuthType Basic
    AuthName x
    AuthUserFile conf/users
    Require user hkraus
    Satisfy all
</Location>
"""


def test_a_line_that_the_upgrade_moved_is_not_changed_by_hand(tmp_path: Path) -> None:
    """`Require user hkraus` goes into a <RequireAll>: no person has touched it."""
    (tmp_path / "conf").mkdir()
    main = tmp_path / "conf/httpd.conf"
    main.write_text(MOVED.format(root=tmp_path))
    written(tmp_path)
    assert "        Require user hkraus\n" in main.read_text(), "it is in a section of its own"
    found = run(str(main))
    assert "-| " in found.stdout and "Require user hkraus" in found.stdout
    assert "changed by hand" not in found.stdout, found.stdout
    main.write_text(main.read_text().replace("Require user hkraus", "Require user mbauer"))
    found = run(str(main))
    number = main.read_text().splitlines().index("        Require user mbauer") + 1
    assert re.search(rf"changed by hand[^=]*\+{number}\n", found.stdout), found.stdout
