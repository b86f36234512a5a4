"""whimbrel replay as a command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.unit.explain.explained_site import CONF, write_site
from tests.unit.replay.replayed_site import NEW, line
from typer.testing import CliRunner, Result

from whimbrel.cli import replay, upgrade
from whimbrel.cli.next_commands import after_replay
from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import Tally


def run(*words: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(replay.app, [*words], input=stdin)


def sides(root: Path, new: str = NEW) -> tuple[str, ...]:
    old_file, new_file = write_site(root, CONF, "old.conf"), write_site(root, new, "new.conf")
    return ("--old", str(old_file), "--old-dialect", "2.4", "--new", str(new_file), "-j", "1")


def test_a_log_of_changes(tmp_path: Path) -> None:
    log = tmp_path / "access_log.gz"
    log.write_bytes(gzip.compress((line("/closed/x") + line("/index.html")).encode()))
    found = run(str(log), *sides(tmp_path))
    assert found.exit_code == 1 and "\n1 request: status 404 -> 403" in found.stdout
    told = json.loads(run(str(log), *sides(tmp_path), "--format", "json").stdout)
    assert told["changes"][0]["new_lines"][-1]["text"] == "Require all denied"
    assert run(str(log), *sides(tmp_path), "--format", "html").stdout.startswith("<!DOCTYPE html>")


def test_one_configuration_is_compared_with_the_log(tmp_path: Path) -> None:
    new = ("--new", str(write_site(tmp_path)), "-j", "1")
    found = run("-", *new, stdin=(line("/index.html") + line("/none", status=200)).encode())
    assert found.exit_code == 3
    assert found.stdout.startswith("1 of 2 requests gets another status than was logged (50.00 %)\n")
    assert "    1 request: logged 200, now 404" in found.stdout and "old: " not in found.stdout
    assert "missing here: 1 of 2 requests: the files are not here" in found.stdout
    found = run("-", *new, stdin=line("/index.html", status=403).encode())
    assert found.exit_code == 1 and "    1 request: logged 403, now 200" in found.stdout
    found = run("-", *new, stdin=line("/index.html").encode())
    assert found.exit_code == 0
    assert found.stdout.startswith("0 of 1 request get another status than was logged (0.00 %)\n")


def test_the_format_comes_from_the_configuration(tmp_path: Path) -> None:
    new = NEW + 'LoadModule log_config_module modules/mod_log_config.so\nLogFormat "%a|%>s|%r" odd\n'
    log = tmp_path / "odd.log"
    log.write_text("10.0.0.1|404|GET /closed/x HTTP/1.1\n")
    assert "status 404 -> 403" in run(str(log), *sides(tmp_path, new)).stdout
    assert "status 404 -> 403" in run(str(log), *sides(tmp_path), "--log-format", "%a|%>s|%r").stdout


def test_errors_of_loading_are_the_result(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(line("/"))
    found = run(str(log), *sides(tmp_path, "Nonsense\n"))
    assert found.exit_code == 1 and "Invalid command 'Nonsense'" in found.stdout


def test_wrong_usage(tmp_path: Path) -> None:
    here = sides(tmp_path)
    log = tmp_path / "log"
    log.write_text(line("/"))
    for words in (
        (str(tmp_path / "none"), *here),
        (str(log), *here, "--new-dialect", "1.3"),
        (str(log), *here, "--log-format", "%h %t"),
    ):
        assert run(*words).exit_code == 2, words


def test_mistakes_get_a_hint(tmp_path: Path) -> None:
    """Nothing that was not read counts as equal: a directory without logs is an error."""
    here = sides(tmp_path)
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        found = run(str(tmp_path / name), *here)
        assert found.exit_code == 2
        assert found.stderr.endswith("hint: name the access logs: whimbrel replay LOG... --new CONF\n")


def test_a_fragment_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    part = tmp_path / "part.conf"
    part.write_text("Redirect /a /b\n")
    log = tmp_path / "log"
    log.write_text(line("/"))
    run(str(log), "--new", str(part), "-j", "1")
    assert f"{part}: a fragment, which was read as a whole server\nhint: " in capfd.readouterr().err


def test_what_is_to_decide_about_the_new_text_stands_against_ready(tmp_path: Path) -> None:
    """`check` and `verify` name the same finding about the same text."""
    (tmp_path / "htdocs").mkdir()
    common = f'Listen 80\nServerName a.example\nDocumentRoot "{tmp_path}/htdocs"\n'
    of_24 = (
        "LoadModule mpm_event_module m/mod_mpm_event.so\nLoadModule authz_core_module m/mod_authz_core.so\n"
    )
    foreign = "LoadModule frontpage_module modules/mod_frontpage.so\n"
    for name, text in (("old", common), ("new", of_24 + foreign + common)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "httpd.conf").write_text(text)
    old, new = (str(tmp_path / name / "httpd.conf") for name in ("old", "new"))
    found = run("-", "--old", old, "--new", new, "-j", "1", stdin=line("/x").encode())
    first = found.stdout.splitlines()[0]
    assert first == "ready for 2.4: no: to decide: 1 finding at 1 place"
    question = "  C06 foreign-modules  httpd.conf:3  Is modules/mod_frontpage.so built for 2.4?\n"
    assert found.stdout.count(f"to decide: 1 finding at 1 place\n{question}      yes: # whimbrel: ign") == 1
    # what `check` counts beside it is said
    handler = '<Files "a.x">\nSetHandler server-info\n</Files>\n'
    for name, text in (("old", common), ("new", of_24 + foreign + common)):
        (tmp_path / name / "httpd.conf").write_text(text + handler)
    found = run("-", "--old", old, "--new", new, "-j", "1", stdin=line("/x").encode())
    assert found.stdout.splitlines()[0] == f"{first}, beside 1 of R14 in `whimbrel check`"


def test_open_decisions_come_before_the_trial_of_the_new_server() -> None:
    decisions = "to decide: 1 finding at 1 place"
    summary = Summary("o", "n", (), Tally(requests=1), dialects=("2.2", "2.4"), to_decide=decisions)
    lines = after_replay(summary, None, Path("n"), "whimbrel serve n", has_backups=True).splitlines()
    assert lines[0].startswith("First: ") and lines[-1] == "Next: whimbrel check n"
    decided = Summary("o", "n", (), Tally(requests=1), dialects=("2.2", "2.4"))
    lines = after_replay(decided, None, Path("n"), "whimbrel serve n", has_backups=True).splitlines()
    assert lines[-2] == "Next: whimbrel serve n"
    assert lines[-1].startswith("Last: put the new text in its place on the server")


def test_a_replay_takes_the_words_of_verify(tmp_path: Path) -> None:
    """`verify --backups DIRECTORY` has its replay in the same form."""
    (tmp_path / "conf").mkdir()
    modules = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    section = f'<Directory "{tmp_path}">\nOrder allow,deny\nAllow from all\n</Directory>\n'
    (tmp_path / "conf/httpd.conf").write_text(f"ServerRoot {tmp_path}\nListen 80\n{modules}{section}")
    (tmp_path / "log").write_text(line("/"))
    log = str(tmp_path / "log")
    written = CliRunner().invoke(upgrade.app, ["--write", "--no-verify", "-d", str(tmp_path)])
    assert written.exit_code in (0, 3), written.output
    found = run("--backups", str(tmp_path), log)
    assert found.exit_code in (0, 1, 3), found.output
    assert found.output == run(log, "--new", str(tmp_path), "--backups").output
    assert "before the upgrade" in found.output
    for words in (("--backups", log), (log,)):
        assert run(*words).exit_code == 2, words
