"""The first and the last lines of check, upgrade, verify, replay and fleets on a small tree: verdict, what
stops 2.4, what is to decide, access, the next command; and the same at the top of their pages.
"""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import check, replay, upgrade, verify

TEXT = """\
ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName a.example
FileETag None
LoadModule authz_default_module modules/mod_authz_default.so
LoadModule authz_host_module modules/mod_authz_host.so
LoadModule rewrite_module modules/mod_rewrite.so
DocumentRoot "{root}/htdocs"
<Directory />
    Options None
    AllowOverride None
</Directory>
RewriteEngine On
RewriteRule ^/w/(.*)$ /wiki/$1 [R=301,L]
<Directory "{root}/htdocs">
    Order allow,deny
    Allow from all
</Directory>
<Directory "{root}/htdocs/inside">
    Order deny,allow
    Deny from all
    Allow from 10.2
</Directory>
"""
STOP = "2.4 does not start: conf/httpd.conf:5: mod_authz_default is gone"
DECIDE = "to decide: 2: R01, R02 conf/httpd.conf:14"
RECORD = "# whimbrel: ignore[R01,R02]"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    root = tmp_path / "web1"
    (root / "conf").mkdir(parents=True)
    (root / "logs").mkdir()
    (root / "htdocs/inside").mkdir(parents=True)
    (root / "htdocs/inside/a.html").write_text("a\n")
    (root / "conf/httpd.conf").write_text(TEXT.format(root=root))
    return root


def run(app: object, *words: str | Path) -> str:
    """Return what a command prints on both streams."""
    result = CliRunner().invoke(app, [*map(str, words)])  # type: ignore[arg-type]
    assert result.exit_code in (0, 1, 2, 3), result.output
    return result.output


def top_of(page: str) -> str:
    """Return the text above the counts of a page."""
    head = page[page.index("<main") :].partition('class="cards"')[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", head)).split())


def test_a_check_begins_and_ends_with_the_answer(site: Path) -> None:
    lines = run(check.app, site).splitlines()
    assert lines[0] == STOP and lines[1] == DECIDE and RECORD in lines[2] and lines[3].startswith("access: ")
    assert f"Next: whimbrel upgrade {site}" in lines[:6] and lines[-1] == f"Next: whimbrel upgrade {site}"
    assert lines[-5:-3] == [STOP, DECIDE]


def test_the_json_of_a_check_names_what_is_to_decide(site: Path) -> None:
    found = json.loads(run(check.app, site, "--format", "json"))
    assert found["stop"] == STOP and found["next"] == f"whimbrel upgrade {site}"
    assert found["to_decide"] == [{"rule": rule, "places": ["conf/httpd.conf:14"]} for rule in ("R01", "R02")]


def test_the_page_of_a_check_names_the_stop_and_filters_what_needs_review(site: Path) -> None:
    page = run(check.app, site, "--format", "html")
    assert '<span class="badge" data-risk="breaks">2.4 does not start</span>' in page
    top = top_of(page)
    assert "conf/httpd.conf:5: mod_authz_default is gone" in top and DECIDE in top and RECORD in top
    assert re.search(r'data-filter="review"[^>]*><b>2</b><span>need review</span>', page)
    assert len(re.findall(r"<article [^>]* data-review", page)) == 2


def test_an_ignored_finding_is_nothing_to_decide(site: Path) -> None:
    file = site / "conf/httpd.conf"
    file.write_text(file.read_text().replace("RewriteRule", f"{RECORD}\nRewriteRule"))
    text = run(check.app, site)
    assert "to decide: nothing\n" in text and "whimbrel: ignore" not in text.replace(RECORD + "\n", "")


def test_an_upgrade_begins_and_ends_with_the_answer(site: Path) -> None:
    lines = run(upgrade.app, site, "--no-verify").splitlines()
    ready = f"ready for 2.4: not yet: {DECIDE}"
    first = next(at for at, line in enumerate(lines) if line == ready)
    assert RECORD in lines[first + 1]
    assert lines[-2:] == [ready, f"Next: whimbrel upgrade --write --no-verify {site}"]
    assert not any(
        line.startswith("Order, Allow, Deny and Satisfy need") for line in lines
    )  # it settles that
    top = top_of(run(upgrade.app, site, "--no-verify", "--format", "html"))
    assert ready in top and RECORD in top and "Next: whimbrel upgrade --write" in top


def test_a_comparison_begins_with_its_verdict_and_its_page_has_the_next_command(
    site: Path, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    run(upgrade.app, site, "--out", new, "--no-verify")
    main = new / "conf/httpd.conf"
    main.write_text(main.read_text().replace("Require ip 10.2", "Require all granted"))
    lines = run(verify.app, site, new).splitlines()
    assert lines[0] == "old (2.2) and new (2.4): different"
    assert lines[1] == "ready for 2.4: no: 1 cause of access that differs" and lines[1] in lines[-3:]
    command = lines[-1].removeprefix("Next: ")
    assert command.startswith("whimbrel ")
    top = top_of(run(verify.app, site, new, "--format", "html"))
    assert lines[1] in top and f"Next: {command}" in top


def test_a_replay_begins_and_ends_with_its_answer(site: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    run(upgrade.app, site, "--out", new, "--no-verify")
    main = new / "conf/httpd.conf"
    main.write_text(main.read_text().replace("Require ip 10.2", "Require all granted"))
    log = tmp_path / "access_log"
    line = '192.0.2.1 - - [22/Nov/2026:10:00:00 +0000] "GET /inside/a.html HTTP/1.1" 403 9\n'
    log.write_text(line + line.replace("/inside/a.html", "/none"))
    sides = (log, "--old", site, "--new", new, "-j", "1", "--log-format", "common")
    lines = run(replay.app, *sides).splitlines()
    assert lines[0].startswith("ready for 2.4: no: 1 of 2 requests")
    assert lines[1] == "2 requests: 1 changes its status, 0 otherwise"
    assert lines[2] == "access: 1 request gains it, 0 lose it"
    assert lines[-4:-1] == lines[:3] and lines[-1].startswith("Next: whimbrel explain ")
    assert not any(line.strip().startswith("hosts: -") for line in lines)
    assert "Next: whimbrel explain " in top_of(run(replay.app, *sides, "--format", "html"))


def test_a_fleet_names_what_to_do_first(site: Path, tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    shutil.copytree(site, fleet / "good")
    shutil.copytree(site, fleet / "torn")
    main = fleet / "torn/conf/httpd.conf"
    main.write_text(main.read_text() + "<Directory /x>\n")
    place = f"conf/httpd.conf:{TEXT.count(chr(10)) + 1}: <Directory> is not closed"
    for app in (check.app, upgrade.app):
        text = run(app, "--fleet", fleet)
        first, following = text.splitlines()[-2:]
        assert first == f"First: torn: correct {place}"
        assert following.startswith("Next: whimbrel upgrade --fleet ")
        assert f"neither 2.2 nor 2.4 starts: {place}" in text
    text = run(verify.app, "--fleet", fleet, "--limit", "50")
    assert place in text and "2 do not load" in text
    top = top_of(run(check.app, "--fleet", fleet, "--format", "html"))
    assert f"First: torn: correct {place} Next: whimbrel upgrade --fleet" in top


def test_a_cut_comparison_of_a_fleet_is_not_decided(tmp_path: Path) -> None:
    """What was not asked may differ: the row says so, and nothing in the report calls it the same."""
    root = tmp_path / "fleet/web"
    (root / "conf").mkdir(parents=True)
    (root / "htdocs").mkdir()
    loads = "LoadModule authz_host_module modules/mod_authz_host.so\n"
    files = "".join(f"<Files x{number}>\nOrder allow,deny\n</Files>\n" for number in range(9))
    text = f'ServerRoot "{root}"\nListen 127.0.0.1:8080\nServerName a\nDocumentRoot "{root}/htdocs"\n'
    (root / "conf/httpd.conf").write_text(text + loads + files)
    compared = tmp_path / "new"
    run(upgrade.app, root, "--out", compared / "web", "--no-verify")
    text = run(verify.app, "--fleet", tmp_path / "fleet", compared, "--limit", "1")
    assert "not every request that can be derived was asked (--limit)" in text
    assert "1 server: 1 not decided" in text and "same" not in text


def test_the_name_of_a_file_is_no_command_of_an_answer(site: Path) -> None:
    """Terminals get escapes as text, and a line of GitHub's format begins no command."""
    name = "a\n::error::\x1b[2J.inc"
    (site / "conf" / name).write_text("LoadModule php5_module modules/libphp5.so\n")
    main = site / "conf/httpd.conf"
    main.write_text(main.read_text() + "Include conf/*.inc\n")
    for words in ((check.app, site), (upgrade.app, site, "--no-verify")):
        text = run(*words)
        assert "conf/a\\x0a::error::\\x1b[2J.inc:1" in text and "\x1b" not in text
        assert not any(line.startswith("::") for line in text.splitlines())
    answer = [line for line in run(check.app, site, "--format", "github").splitlines() if "to decide" in line]
    assert answer and "\\x0a::error::" in answer[0]
