"""The work on one server gives what the command for it alone gives; what fails is a result."""

from __future__ import annotations

import json
import os
import pwd
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.support.fleet_trees import BROKEN, write_broken, write_server
from typer.testing import CliRunner

from whimbrel.cli import check, upgrade, verify
from whimbrel.fleet.model import FleetReport, ServerResult
from whimbrel.fleet.servers import NO_NEW, FleetServer
from whimbrel.fleet.tasks import CheckTask, FleetTask, UpgradeTask, VerifyTask, work
from whimbrel.report.model import UNREAD
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.named_sources import ConfigArguments

CHECK = CheckTask(ConfigArguments(), Selection(), UpgradeOptions())
UPGRADE = UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), is_verified=False)
VERIFY = VerifyTask(ConfigArguments(), ("2.2", "2.4"), 50)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write_server(tmp_path / "web", 1, 6)
    return tmp_path / "web"


def alone(app: Any, *words: str) -> tuple[dict[str, Any], int]:
    """Return the JSON and the exit code of a command for one server."""
    result = CliRunner().invoke(app, [*words])
    return json.loads(result.stdout), result.exit_code


def run(task: FleetTask, path: Path, new: str = "") -> ServerResult:
    return work(task, FleetServer("web", str(path), new))


def test_check_as_alone(tree: Path) -> None:
    document, code = alone(check.app, str(tree), "--format", "json")
    result = run(CHECK, tree)
    assert (result.verdict, result.code, code) == ("findings", 1, 1)
    assert {risk.value: count for risk, count in result.by_risk().items()} == document["risks"]
    assert {one.rule for one in result.rules} == set(document["rules"])
    assert sum(one.count for one in result.rules) == len(document["findings"])
    assert (result.files, result.lines) == (len(document["files"]), document["lines"])
    assert result.undecided == sum(item["matters"] for item in document["knowledge"]["unknown"])
    assert result.seconds > 0
    assert result.note == document["stop"] and result.note.startswith("2.4 does not start: "), result.note


def test_a_row_counts_as_the_report_of_its_server(tree: Path) -> None:
    (tree / "htdocs").mkdir()
    (tree / "htdocs" / ".htaccess").write_text("Order allow,deny\nAllow from all\n")
    shown = CliRunner().invoke(check.app, [str(tree)]).stdout
    alone = dict(re.findall(r"^  ([a-z0-9 -]+?) {2,}(\d+)", shown, re.M))
    for task in (CHECK, UPGRADE):
        row = {effect.name: str(count) for effect, count in run(task, tree).by_effect().items() if count}
        assert row["500 per request"] == alone["500 per request"]
    row = {effect.name: str(count) for effect, count in run(CHECK, tree).by_effect().items() if count}
    assert row == alone


def test_a_row_has_the_counts_of_the_report_of_its_server(tree: Path) -> None:
    """What needs a decision counts as what needs a review does; text that was not read has a column."""
    main = tree / "conf/httpd.conf"
    more = "SSLProxyEngine on\nRewriteEngine on\nRewriteRule ^/(.*)$ /b/$1\nInclude conf/none.conf\n"
    main.write_text(f"{main.read_text()}{more}")
    document, _code = alone(check.app, str(tree), "--format", "json")
    counts = document["counts"]
    assert counts["to_decide"] > 1 and counts["unread"], counts
    for task in (CHECK, UPGRADE):
        result = run(task, tree)
        assert (result.review, result.by_effect()[UNREAD]) == (counts["to_decide"], counts["unread"]), task
        assert (result.files, result.lines) == (len(document["files"]), document["lines"])
    result = run(CHECK, tree)
    assert sum(one.count for one in result.rules) == counts["findings"] + counts["notes"]


def test_files_that_no_include_reads_are_not_counted(tree: Path) -> None:
    (tree / "lone.conf").write_text("MaxClients 5\n<Limit GET>\nOrder allow,deny\n</Limit>\nSSLMutex none\n")
    document, _code = alone(check.app, str(tree), "--format", "json")
    result = run(CHECK, tree)
    assert {risk.value: count for risk, count in result.by_risk().items()} == document["risks"]
    assert sum((Counter({one.rule: one.count}) for one in result.rules), Counter()) == document["rules"]
    assert (result.files, result.lines) == (len(document["files"]) - 1, document["lines"])
    assert document["lone_files"] == {"lone.conf": 5}
    assert {one["file"] for one in document["findings"] if one["lone_file"]} == {"lone.conf"}
    assert result.review == document["counts"]["to_decide"]


def test_a_main_file_is_its_server(tree: Path) -> None:
    assert run(CHECK, tree / "conf/httpd.conf").rules == run(CHECK, tree).rules


def test_a_server_in_a_sub_directory_is_found_as_by_check(tree: Path, tmp_path: Path) -> None:
    """A copy of a machine has its server further down; of two in one tree neither is the one."""
    outer = tmp_path / "machine"
    outer.mkdir()
    os.rename(tree, outer / "apache2")
    document, _code = alone(check.app, str(outer), "--format", "json")
    found = run(CHECK, outer)
    assert not found.fault and sum(one.count for one in found.rules) == len(document["findings"])
    write_server(outer / "other", 1, 6)
    assert run(CHECK, outer).fault


def test_a_main_file_without_proof_is_read_as_with_the_option_d(tmp_path: Path) -> None:
    """apache2.conf alone shows nothing of a server; -d reads it."""
    (tmp_path / "apache2.conf").write_text("<Directory />\nOrder allow,deny\n</Directory>\n")
    assert run(CHECK, tmp_path).verdict == "findings"


def test_upgrade_as_alone(tree: Path, tmp_path: Path) -> None:
    document, code = alone(upgrade.app, str(tree), "--json", "--no-verify")
    result = run(UPGRADE, tree)
    assert (result.verdict, result.code, code) == ("changes to make", 1, 1)
    assert result.changed == len(document["files"])
    assert sum(one.count for one in result.rules) == len(document["findings"])
    out = UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), tmp_path / "out", is_verified=False)
    written = run(out, tree)
    assert (written.verdict, written.code, out.writes) == ("needs review", 3, True)
    text = (tmp_path / "out/web/conf/httpd.conf").read_text()
    assert "Require all denied" in text and "Order" not in text
    assert "Order" in (tree / "conf/httpd.conf").read_text()


def test_upgrade_in_place_reports_that_it_writes(tree: Path) -> None:
    task = UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), is_written=True, is_verified=False)
    steps: list[str] = []
    result = work(
        task, FleetServer("web", str(tree)), lambda: steps.append((tree / "conf/httpd.conf").read_text())
    )
    assert result.code == 3
    assert len(steps) == 1 and "Order" in steps[0]
    assert "Order" not in (tree / "conf/httpd.conf").read_text()
    assert (tree / "conf/httpd.conf.whimbrel-2.2~").read_text() == steps[0]
    assert run(UPGRADE, tree).changed == 0


def test_verify_as_alone(tree: Path) -> None:
    document, code = alone(verify.app, str(tree), "--format", "json", "--limit", "50")
    result = run(VERIFY, tree)
    assert (result.verdict, result.code) == (document["verdict"], code)
    assert document["verdict"] == "does not load"
    assert result.fault
    same = run(VerifyTask(ConfigArguments(), ("2.2", "2.2"), 50), tree, str(tree))
    assert (same.verdict, same.code) == ("not decided", 3)
    assert same.undecided > 0 and not same.fault


@pytest.mark.parametrize("is_here", [True, False])
def test_verify_of_a_server_that_does_not_start_here_as_alone(tmp_path: Path, is_here: bool) -> None:
    """A user that is not on this machine stops both; nothing differs, and 2.4 does not serve."""
    for name in ("htdocs", "old", "new", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "types").touch()
    user = next(one.pw_name for one in pwd.getpwall() if one.pw_uid) if is_here else "has-no-account"
    common = (
        f'User {user}\nErrorLog "{tmp_path}/logs/error_log"\nListen 8080\nServerName a.example\n'
        f'DefaultType none\nDocumentRoot "{tmp_path}/htdocs"\nTypesConfig "{tmp_path}/types"\n'
        "<Directory />\nOptions None\nAllowOverride None\n</Directory>\n"
    )
    modules = "mpm_event unixd authz_core mime dir autoindex negotiation userdir"
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in modules.split())
    for name, text in (("old", common), ("new", f"{loads}FileETag INode MTime Size\n{common}")):
        (tmp_path / name / "httpd.conf").write_text(text)
    old, new = (str(tmp_path / name / "httpd.conf") for name in ("old", "new"))
    document, code = alone(verify.app, old, new, "--format", "json", "--limit", "50")
    result = run(VERIFY, Path(old), new)
    assert (result.verdict, result.code) == (document["verdict"], code)
    assert bool(document["no_start"]) is not is_here, document
    assert (document["verdict"], code) == (("same", 0) if is_here else ("not decided", 3)), document


def test_pages(tree: Path) -> None:
    for task in (
        CheckTask(ConfigArguments(), Selection(), UpgradeOptions(), has_pages=True),
        UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), is_verified=False, has_pages=True),
        VerifyTask(ConfigArguments(), ("2.2", "2.2"), 50, has_pages=True),
    ):
        assert run(task, tree).page.startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("task", [CHECK, UPGRADE, VERIFY], ids=["check", "upgrade", "verify"])
def test_broken_trees_are_results(tmp_path: Path, kind: str, task: FleetTask) -> None:
    write_broken(tmp_path / kind, kind)
    result = run(task, tmp_path / kind)
    if kind == "empty":
        assert (result.verdict, result.code) == ("not decided", 3)
    if kind in ("directory", "dangling"):
        assert (result.verdict, result.code) == ("not read", 2)
        assert f"{kind}/conf/httpd.conf: " in result.fault
    assert result.code != 0
    assert "defect" not in result.fault


def test_a_server_of_one_side_is_not_decided() -> None:
    result = work(VERIFY, FleetServer("web", "/x", fault="the new side has no server of this name"))
    assert (result.verdict, result.code) == ("not decided", 3)
    assert result.fault == "the new side has no server of this name"


def test_a_server_that_was_not_upgraded_names_what_stops_it(tree: Path) -> None:
    """It comes first; one that the upgrade can read was left out for another reason."""
    server = FleetServer("web", str(tree), fault=NO_NEW)
    assert work(VERIFY, server).fault == NO_NEW
    main = next(tree.rglob("*.conf"))
    text = main.read_text()
    main.write_text(f"{text}<Location /x>\n")
    result = work(VERIFY, server)
    assert (result.verdict, result.code) == ("not read", 2)
    place = f"{main.relative_to(tree)}:{text.count(chr(10)) + 1}"
    assert result.fault == f"not upgraded: {place}: <Location> is not closed"


def test_an_old_side_of_24_is_no_failure(tree: Path) -> None:
    main = tree / "conf/httpd.conf"
    loads = "".join(
        f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "unixd")
    )
    main.write_text(f'{loads}Listen 80\nServerName x\nDocumentRoot "{tree}"\n')
    result = run(VERIFY, tree, str(tree))
    assert (result.verdict, result.code, result.rules) == ("not decided", 3, ())
    assert result.fault == "OLD is a text of 2.4: --old-dialect 2.4 compares it as such"
    main.write_text("Listen 80\nOrder allow\nNoSuchDirective x\n")
    assert "text of 2.4" not in run(VERIFY, tree, str(tree)).fault


@pytest.mark.parametrize("task", [CHECK, UPGRADE])
def test_a_server_with_a_damaged_tag_is_not_read(tree: Path, task: FleetTask) -> None:
    """Its findings are consequences of one damaged tag, and nothing of it is written."""
    main = next(tree.rglob("*.conf"))
    text = main.read_text()
    main.write_text(f"{text}<Files x>\n</Fils>\n")
    result = run(task, tree)
    assert (result.verdict, result.code, result.rules) == ("not read", 2, ())
    assert f"{main.relative_to(tree)}:{text.count(chr(10)) + 2}" in result.fault


@pytest.mark.parametrize("task", [CHECK, UPGRADE], ids=["check", "upgrade"])
@pytest.mark.parametrize(
    ("name", "added", "why", "verdict"),
    [
        ("conf.d/00-host.conf", "<VirtualHost *:81>\n", "<VirtualHost> is not closed", "not read"),
        (
            "conf/httpd.conf",
            "Include conf/none.conf\n",
            "conf/none.conf cannot be read: No such file",
            "does not load",
        ),
        ("conf/httpd.conf", "Bogus on\n", "Invalid command 'Bogus'", "does not load"),
    ],
    ids=["unclosed", "missing", "unknown"],
)
def test_a_server_that_no_upgrade_starts_comes_first(
    tree: Path, task: FleetTask, name: str, added: str, why: str, verdict: str
) -> None:
    """A line that rules mend stops 2.4 before the fault does; both versions stop at the fault. Where the text
    was read, its findings count, and the server is not called *not read*.
    """
    healthy = run(task, tree)
    main = tree / "conf/httpd.conf"
    main.write_text(f"LoadModule authn_default_module modules/mod_authn_default.so\n{main.read_text()}")
    text = (tree / name).read_text()
    (tree / name).write_text(f"{text}{added}")
    result = run(task, tree)
    place = f"{name}:{text.count(chr(10)) + 1}"
    assert (result.verdict, result.code) == (verdict, 2)
    assert bool(result.rules) == (verdict != "not read")
    assert result.fault.startswith(f"neither 2.2 nor 2.4 starts: {place}: {why}")
    assert healthy.code == 1
    assert result.work() < healthy.work()
    first = FleetReport(task.command, [healthy, result], 2).first()
    assert first.startswith(f"web: correct {place}: {why}")


@pytest.mark.parametrize("task", [CHECK, UPGRADE], ids=["check", "upgrade"])
@pytest.mark.parametrize(
    "added",
    [
        "Include /nowhere/else.conf\n",
        "<IfModule !so_module>\nBogus on\nInclude conf/none.conf\n</IfModule>\n",
    ],
    ids=["elsewhere", "not in 2.2"],
)
def test_what_may_start_elsewhere_has_findings(tree: Path, task: FleetTask, added: str) -> None:
    main = tree / "conf/httpd.conf"
    main.write_text(main.read_text() + added)
    assert (run(task, tree).code, run(task, tree).fault) == (1, "")


def test_a_row_of_a_check_names_what_it_counts_about_access(tree: Path) -> None:
    """PHP 8 skips a section for PHP 5 and the denial in it: files that were refused are sent. A question
    comes before what an upgrade changes by itself, which the columns count too.
    """
    before = run(CHECK, tree)
    assert before.access == ""  # of a directory that was not read no effect on access is known
    main = tree / "conf/httpd.conf"
    denied = "<IfModule mod_php5.c>\n<Files x.inc>\nOrder allow,deny\nDeny from all\n</Files>\n</IfModule>\n"
    main.write_text(f"{main.read_text()}LoadModule php5_module modules/libphp5.so\n{denied}")
    assert run(CHECK, tree).access.startswith("R13 php-branches opens it at conf/httpd.conf:")


def test_a_row_that_needs_review_names_what_is_to_decide_first(tree: Path) -> None:
    """The text of 2.2 loads, and 2.4 loads what the upgrade makes of it: only the question is left."""
    main = tree / "conf/httpd.conf"
    main.write_text(f"{main.read_text()}LoadModule php5_module modules/libphp5.so\n")
    line = len(main.read_text().splitlines())
    task = UpgradeTask(ConfigArguments(), Selection(), UpgradeOptions(), is_verified=False)
    assert run(task, tree).note == f"first to decide: C06 foreign-modules at conf/httpd.conf:{line}"
