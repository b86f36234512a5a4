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

from whimbrel.base.errors import SourceLocation
from whimbrel.cli import check, explain, replay, upgrade, verify
from whimbrel.report.decisions import (
    MORE_QUESTIONS,
    access_line,
    access_of_comparison,
    answer_lines,
    decisions_in_short,
    not_started,
)
from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.page.check_page import access_tables
from whimbrel.upgrade.model import AccessDifference, Risk

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
DECIDE = "to decide: 1 finding at 1 place"
QUESTION = "May URLs of `^/w/(.*)$` get 403 where a question mark (%3f) enters the new path?"
ASKED = f"R01 unsafe-urls  conf/httpd.conf:14  {QUESTION}"
RECORD = "# whimbrel: ignore[R01]"
ANSWERS = (
    f"yes: {RECORD} above conf/httpd.conf:14 records it",
    "no, they are in use: add UnsafeAllow3F (whimbrel upgrade --unsafe-flags)",
)
BELOW = [f"  {ASKED}", *(f"      {answer}" for answer in ANSWERS)]


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


def test_a_check_begins_with_the_answer(site: Path) -> None:
    lines = run(check.app, site).splitlines()
    assert lines[:5] == [STOP, DECIDE, *BELOW] and lines[5].startswith("access: ")
    assert f"Next: whimbrel upgrade {site}" in lines[:8] and lines[-1] == f"Next: whimbrel upgrade {site}"
    assert lines.count(BELOW[0]) == 1
    explained = f"  the choices of the first: whimbrel explain conf/httpd.conf:14 {site}"
    assert lines[-6:-1] == [STOP, DECIDE, "  R01 unsafe-urls  conf/httpd.conf:14", explained, lines[5]]
    choices = CliRunner().invoke(explain.app, ["conf/httpd.conf:14", str(site)]).output.splitlines()
    assert choices[-7:-3] == ["to decide:", *BELOW], "the command shows what it promises"
    assert choices[-3] == "First: write one of these answers into the text"


def test_the_json_of_a_check_names_what_is_to_decide(site: Path) -> None:
    found = json.loads(run(check.app, site, "--format", "json"))
    assert found["stop"] == STOP and found["next"] == f"whimbrel upgrade {site}"
    of_line = [answer.replace("above conf/httpd.conf:14", "above the line") for answer in ANSWERS]
    assert found["to_decide"] == [
        {"rule": "R01", "places": ["conf/httpd.conf:14"], "question": QUESTION, "answers": of_line}
    ]


def test_the_page_of_a_check_names_the_stop_and_filters_what_needs_review(site: Path) -> None:
    page = run(check.app, site, "--format", "html")
    assert '<span class="badge" data-risk="breaks">2.4 does not start</span>' in page
    top = top_of(page)
    assert "conf/httpd.conf:5: mod_authz_default is gone" in top and DECIDE in top
    question = QUESTION.replace("`", " ").replace("  ", " ")  # code is an element there
    assert f"{question} conf/httpd.conf:14 R01 unsafe-urls {' '.join(ANSWERS)}" in " ".join(
        top.split()
    ).replace(
        "conf :14",
        "conf:14",  # the number of a line is an element, which does not break
    )
    assert page.count('<span class="answers">') == len(ANSWERS), "each answer is a block of its own"
    assert re.search(r'data-filter="review"[^>]*><b>1</b><span>to decide</span>', page)
    assert len(re.findall(r"<article [^>]* data-review", page)) == 1


def test_the_choices_are_those_of_a_named_question() -> None:
    """`explain` of a line shows no fault that only a start finds: the question that it shows is named."""
    load = ReportEntry("LOAD", "a/.htaccess", 7, "m", "", Risk.BREAKS, needs_review=True)
    other = ReportEntry("C17", "b", 27, "m", "", Risk.OPENS, needs_review=True)
    last = list(decisions_in_short([other, load], "explain {}".format))[-1]
    assert last == "  the choices of C17 b:27, the first that `explain` shows: explain b:27"
    assert (
        list(decisions_in_short([other], "explain {}".format))[-1]
        == "  the choices of the first: explain b:27"
    )


def test_an_ignored_finding_is_nothing_to_decide(site: Path) -> None:
    file = site / "conf/httpd.conf"
    file.write_text(file.read_text().replace("RewriteRule", f"{RECORD}\nRewriteRule"))
    text = run(check.app, site)
    assert "to decide: nothing\n" in text and "whimbrel: ignore" not in text.replace(RECORD + "\n", "")


def test_an_upgrade_begins_and_ends_with_the_answer(site: Path) -> None:
    lines = run(upgrade.app, site, "--no-verify").splitlines()
    ready = f"ready for 2.4: not yet: {DECIDE}"
    first = next(at for at, line in enumerate(lines) if line == ready)
    assert lines[first + 1].startswith("start: 2.4 loads the new text; ")
    assert lines[first + 2 : first + 5] == BELOW and lines.count(BELOW[0]) == 1
    explained = f"  the choices of the first: whimbrel explain conf/httpd.conf:14 {site}"
    short = [ready, "  R01 unsafe-urls  conf/httpd.conf:14", explained, lines[first + 1]]
    assert lines[-5:] == [*short, f"Next: whimbrel upgrade --write --no-verify {site}"]
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
    assert lines[1] == "ready for 2.4: no: 2 causes of access that differs" and lines[1] in lines[-6:]
    assert lines.pop(2).startswith(f"files: below {new}; of the old text: below ")
    below = [DECIDE, *(line.replace("conf/httpd.conf:14", "conf/httpd.conf:22") for line in BELOW)]
    assert lines[2].startswith("start: ") and "modules/mod_authz_host.so is not on this machine" in lines[2]
    assert lines[3:7] == below and "to decide" not in lines[1]
    assert lines[-6] == lines[1] and lines.count(lines[0]) == lines.count(below[1]) == 1, lines[-8:]
    command = lines[-1].removeprefix("Next: ")
    assert command.startswith("whimbrel ")
    top = top_of(run(verify.app, site, new, "--format", "html"))
    assert lines[1] in top and f"Next: {command}" in top


def test_a_replay_begins_with_its_answer(site: Path, tmp_path: Path) -> None:
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
    assert lines[3] == DECIDE and lines[4].strip().startswith("R01 ")
    assert all(lines.count(line) == 1 for line in lines[1:6])
    assert lines[-1].startswith("Next: whimbrel explain ")
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
    answer = [line for line in run(check.app, site, "--format", "github").splitlines() if "  C06 " in line]
    assert len(answer) == 1 and "\\x0a::error::" in answer[0]


def test_each_finding_is_counted_once_in_text_json_and_page(site: Path) -> None:
    main = site / "conf/httpd.conf"
    main.write_text(main.read_text().replace("FileETag None", "LoadModule front_module modules/front.so"))
    found = json.loads(run(check.app, site, "--format", "json"))
    numbers = found["counts"]
    of_text = [entry for entry in found["findings"] if not entry["note"]]
    assert numbers["findings"] == len(of_text)
    four = [numbers[name] for name in ("fixed", "to_decide", "unread", "waiting")]
    assert sum(four) == numbers["findings"] and numbers["to_decide"] == 3
    words = f"({four[0]} changed by upgrade, 3 to decide; upgrade compares answers and may ask more)"
    text = run(check.app, site)
    assert f"{numbers['findings']} findings {words}" in text
    assert "to decide: 3 findings at 3 places\n  C06" in text
    page = unescape(run(check.app, site, "--format", "html"))
    assert f"; {four[0]} changed by upgrade; 3 to decide" in page and MORE_QUESTIONS in page


def test_a_comment_that_keeps_a_change_out_says_so(site: Path) -> None:
    """FileETag is written where the default changes (C11): a comment leaves it unwritten."""
    main = site / "conf/httpd.conf"
    main.write_text(main.read_text().replace("FileETag None\n", ""))
    text = run(check.app, site)
    place = re.search(r"^  C11 file-etag  (\S+:\d+)  Do ETags need the inode", text, re.MULTILINE)
    assert place is not None
    answers = (
        "      yes: upgrade writes FileETag INode MTime Size, and clients see no change\n"
        f"      no: # whimbrel: ignore[C11] above {place[1]} keeps the text as it is: every cache "
    )
    assert f"Do ETags need the inode, as in 2.2, which reveals it?\n{answers}" in text
    assert ANSWERS[0].replace("conf:14", "conf:13") in text  # a line above it is gone


def test_a_text_that_22_refuses_too_says_which_line_stops_which_version(site: Path) -> None:
    """mod_disk_cache needs mod_cache in both versions; the number of the line is that of the user's text."""
    main = site / "conf/httpd.conf"
    rewrite = "LoadModule rewrite_module modules/mod_rewrite.so\n"
    disk = "LoadModule disk_cache_module modules/mod_disk_cache.so\n"
    main.write_text(main.read_text().replace(rewrite, rewrite + disk))
    output = run(check.app, site)
    first = output.splitlines()[0]
    assert first.startswith("neither 2.2 nor 2.4 starts: 2.2 ends at conf/httpd.conf:8: ")
    assert "undefined symbol: ap_cache_generate_name" in first
    assert first.endswith("; 2.4 at conf/httpd.conf:5: mod_authz_default is gone")
    assert "load cache_module above the line: this module needs it" in output
    assert "error on line" not in output
    assert "First: correct conf/httpd.conf:8\n" in output


def test_texts_in_the_place_of_links_are_said_first(site: Path) -> None:
    (site / "available").mkdir()
    (site / "enabled").mkdir()
    for name in ("a.conf", "b.conf"):
        (site / "available" / name).write_text("Listen 127.0.0.1:8081\n")
        (site / "enabled" / name).write_text(f"../available/{name}")
    main = site / "conf/httpd.conf"
    main.write_text(main.read_text() + "Include enabled/*.conf\n")
    lines = run(check.app, site).splitlines()
    remedy = "copy the tree with its links (cp -a, rsync -l, tar)"
    places = "enabled/a.conf:1 and 1 more"
    assert lines[0] == f"neither 2.2 nor 2.4 starts: {places}: text in the place of a link; {remedy}"
    assert f"First: correct {places}" in lines
    first = f"First: {remedy}: text in the place of a link: enabled/a.conf and 1 more"
    assert first in run(upgrade.app, site, "--no-verify").splitlines()
    assert run(verify.app, site).splitlines()[-1].startswith("Next: whimbrel check ")


def test_access_names_what_is_to_decide_first_with_clients_and_counts_the_rest() -> None:
    written = ReportEntry("R12", "a", 5, "m", "", Risk.OPENS, is_fixable=True)
    asked = ReportEntry("C20", "b", 2, "m", "", Risk.OPENS, needs_review=True, evidence="GET / as anna")
    closed = [ReportEntry("C17", "c", line, "m", "", Risk.CLOSES, is_fixable=True) for line in range(1, 5)]
    assert access_line([written, asked, *closed]) == (
        "access: C20 old-and-new-mixed opens it at b:2 (needs review): GET / as anna; "
        "R12 php-handlers opens it at a:5 (changed by upgrade); "
        "C17 order-allow-deny closes it at c:1 (changed by upgrade); "
        "C17 order-allow-deny closes it at c:2 (changed by upgrade); "
        "C17 order-allow-deny closes it at c:3 (changed by upgrade); 1 more finding closes it"
    )
    assert access_line([]) == "access: no finding opens or closes it"


def test_an_answer_of_a_text_that_does_not_start_is_none_as_the_text_stands() -> None:
    opening = ReportEntry("C20", "b", 2, "m", needs_review=True, risk=Risk.OPENS)
    report = Report(files=["b"], entries=[opening], stop="2.4 does not start: b:9: mod_x is gone")
    begin = "access: 2.4 does not start with this text; beside that, "
    assert answer_lines(report)[-1] == f"{begin}C20 old-and-new-mixed opens it at b:2 (needs review)"
    (table,) = access_tables([opening], {}, not_started(report))
    assert table.note == "2.4 does not start with this text: after the start is mended, if these lines stay."
    assert access_tables([opening], {})[0].note == "If the text stays as it is."


def test_access_of_a_file_alone_is_as_its_server_has_it(tmp_path: Path) -> None:
    """An outer <FilesMatch> is merged behind the lines of a .htaccess file, which 2.4 replaces."""
    alone = tmp_path / ".htaccess"
    alone.write_text("Satisfy any\nOrder allow,deny\nAllow from all\n")
    output = run(check.app, alone)
    part = "; the server of what was read is not known, whose sections decide too"
    assert f"access: no finding opens or closes it{part}" in output.splitlines()
    assert "<FilesMatch> or <Location> of its server 2.4 may deny" in " ".join(output.split())


def test_a_long_line_about_access_has_a_line_for_each_finding_and_stands_once() -> None:
    found = [
        ReportEntry("C20", f"conf/{'x' * 60}{at}.conf", 2, "m", "", risk, True)
        for at, risk in enumerate((Risk.OPENS, Risk.CLOSES, Risk.CLOSES))
    ]
    report = Report(["a"], found)
    assert [line[:44] for line in answer_lines(report)[-4:]] == [
        "access:",
        "  C20 old-and-new-mixed opens it at conf/xxx",
        "  C20 old-and-new-mixed closes it at conf/xx",
        "  C20 old-and-new-mixed closes it at conf/xx",
    ]


def test_a_comparison_names_what_opens_access_without_a_request() -> None:
    """The tile of a page counts the finding, so the sentence beside it must not say that nothing gains."""
    opens = ReportEntry("R13", "php.conf", 1, "source", risk=Risk.OPENS, needs_review=True)
    closes = ReportEntry("C46", "i.conf", 8, "digest", risk=Risk.CLOSES, needs_review=True)
    done = ReportEntry("X12", "a.conf", 3, "order", risk=Risk.OPENS, is_fixable=True)
    lost = AccessDifference("anna", "GET /", 200, 403)
    text = access_of_comparison([lost], [opens, closes, done])
    assert text == (
        "access: 0 examples gain it, 1 loses it, such as anna loses GET / (granted -> 403); without a "
        "request that shows it: R13 php-branches opens it at php.conf:1 (needs review)"
    )
    place = SourceLocation("/srv/conf/a.conf", 7)
    gained = AccessDifference("everybody", "GET /a", 403, 200, place)
    hidden = AccessDifference("everybody", "GET /.ht", 403, 200, place)
    text = access_of_comparison([hidden, gained, lost], [], "/srv")
    assert text == (
        "access: 2 examples gain it, 1 loses it, such as everybody gains GET /a (403 -> granted by "
        "conf/a.conf:7); anna loses GET / (granted -> 403)"
    )
    nothing = "access: no request of the comparison gains or loses it"
    assert access_of_comparison([], [done]) == nothing
    assert access_of_comparison([], [opens]).startswith(f"{nothing}; without a request that shows it: R13 ")
