"""Planned upgrades that are compared with what they replace: changes that differ, differences elsewhere."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from tests.unit.upgrade.config_trees import laid
from tests.unit.verify.sites import make_root

from whimbrel.api.checking import upgrade_sources
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.report.written_lines import access_places
from whimbrel.upgrade.check import unverified
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.check.load_errors import add_load_errors
from whimbrel.upgrade.model import DIFFERENCE, LOAD_ERROR, Risk, Safety, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify import upgraded
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.config_lines import LineScope
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.upgraded import has_finding, lower_unconfirmed, verify_upgrade
from whimbrel.verify.verification import DifferenceGroup, Example

LOADED = ("authz_host", "auth_basic", "authn_file", "authz_user", "alias", "dir", "mime")
BRANCHES = """<Directory "@ROOT@/htdocs">
    <IfModule !mod_authz_core.c>
        Order {order}
    </IfModule>
    <IfModule mod_authz_core.c>
        Require all {word}
    </IfModule>
</Directory>
"""
PRIVATE = """<Directory "@ROOT@/htdocs/private">
    Order deny,allow
    Deny from all
</Directory>
"""


def options_of(root: Path, conf: str) -> LoadOptions:
    """Write a server with *conf* and return its options."""
    make_root(root)
    lines = [f"LoadModule {one}_module modules/mod_{one}.so" for one in LOADED]
    lines += ["Listen 127.0.0.1:8080", "ServerName localhost", f'DocumentRoot "{root}/htdocs"']
    lines += ["TypesConfig conf/mime.types", "MaxRequestsPerChild 5", conf.replace("@ROOT@", str(root))]
    (root / "conf/httpd.conf").write_text("\n".join(lines) + "\n")
    return LoadOptions(server_root=str(root), file=str(root / "conf/httpd.conf"))


def verified(root: Path, conf: str) -> tuple[str, UpgradeResult]:
    """Return the sentence about the upgrade of *conf*, and the result of the upgrade."""
    options = options_of(root, conf)
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    add_load_errors(result, options)
    return verify_upgrade(result, options), result


@pytest.mark.parametrize(
    ("order", "word", "risk"),
    [
        ("allow,deny\nAllow from all", "denied", Risk.CLOSES),
        ("deny,allow\nDeny from all", "granted", Risk.OPENS),
    ],
)
def test_branches_that_decide_otherwise_need_review(
    tmp_path: Path, order: str, word: str, risk: Risk
) -> None:
    text, result = verified(tmp_path, BRANCHES.format(order=order, word=word))
    assert text.endswith("no answer contradicts a safe change; 1 difference is about access")
    (found,) = [finding for finding in result.findings if finding.rule == DIFFERENCE]
    assert (found.risk, found.needs_review, found.place.path) == (
        risk,
        True,
        str(tmp_path / "conf/httpd.conf"),
    )
    assert "GET http://localhost:8080/" in found.message


def test_branches_that_decide_alike_are_confirmed(tmp_path: Path) -> None:
    conf = BRANCHES.format(order="allow,deny\nAllow from all", word="granted")
    text, result = verified(tmp_path, conf)
    assert (
        ": no answer contradicts a safe change; 1 cause of other answers lies in the versions alone (" in text
    )
    assert not [finding for finding in result.findings if finding.rule == DIFFERENCE]


def test_a_difference_that_a_finding_is_about_has_no_other_finding(tmp_path: Path) -> None:
    below = PRIVATE.replace("Deny from all", "Allow from all")
    conf = BRANCHES.format(order="allow,deny\nAllow from all", word="denied") + below
    text, result = verified(tmp_path, conf)
    assert text.endswith("no answer contradicts a safe change; 1 difference is about access")
    found = {finding.rule: finding for finding in result.findings if finding.needs_review}
    assert found.keys() == {"C20", DIFFERENCE}
    assert found[DIFFERENCE].place.line < found["C20"].place.line


def test_branches_that_decide_alike_carry_the_sections_below_them(tmp_path: Path) -> None:
    below = PRIVATE.replace("Deny from all", "Allow from all")
    conf = BRANCHES.format(order="deny,allow\nDeny from all", word="denied") + below
    text, result = verified(tmp_path, conf)
    assert (
        ": no answer contradicts a safe change; 1 cause of other answers lies in the versions alone (" in text
    )
    assert not [finding for finding in result.findings if finding.needs_review]


PATH_INFO = """<Location "/*.html">
    Order deny,allow
</Location>
<Files "*.html">
    Require user alice
</Files>
<Directory "@ROOT@/htdocs">
    AuthType Basic
    AuthName x
    AuthUserFile conf/users
</Directory>
"""


def test_more_path_behind_a_file_opens_nothing(tmp_path: Path) -> None:
    make_root(tmp_path, {"htdocs/private/.htaccess": "Satisfy any\n"})
    text, result = verified(tmp_path, PATH_INFO)
    opened = [finding for finding in result.findings if "401 -> " in finding.message + finding.evidence]
    assert text and not opened


ELSEWHERE = """# see /usr/share/doc/apache2.2-common
Listen 8080
ServerName a.example
LoadModule authz_host_module /usr/lib/apache2/modules/mod_authz_host.so
LoadModule suphp_module /usr/lib/apache2/modules/mod_suphp.so
LogFormat "%h" x
<Directory />
Order allow,deny
Deny from all
</Directory>
"""


def test_a_tree_with_a_library_that_is_elsewhere_is_verified(tmp_path: Path) -> None:
    laid(tmp_path, {"apache2.conf": ELSEWHERE, "htdocs/index.html": "x"})
    options = LoadOptions(server_root=str(tmp_path), file="apache2.conf")
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    assert result.files
    sentence = verify_upgrade(result, options)
    assert sentence.startswith("verified with "), sentence
    assert any("mod_suphp.so" in item.subject for item in result.scope.deciding)


@pytest.mark.parametrize(
    ("lines", "messages"),
    [
        (["Deny from 0.0.0.0/0"], ["The specified network mask is invalid."]),
        (["Require usr alice"], ["Unknown Authz provider: usr"]),
        (
            ["Require all granted", "Require usr alice", "Deny from 0.0.0.0/0"],
            ["", "Unknown Authz provider: usr", "The specified network mask is invalid."],
        ),
    ],
)
def test_lines_for_24_that_24_rejects_are_findings(
    tmp_path: Path, lines: list[str], messages: list[str]
) -> None:
    """The messages are those of httpd 2.4.71 at its start."""
    branch = "<IfModule mod_authz_core.c>\n" + "\n".join(lines) + "\n</IfModule>\n"
    conf = (
        f'<Directory "@ROOT@/htdocs">\n{branch}'
        "<IfModule !mod_authz_core.c>\nOrder deny,allow\nDeny from all\n</IfModule>\n</Directory>\n"
    )
    text, result = verified(tmp_path, conf)
    assert text.startswith("not verified: under 2.4 the configuration does not load here")
    found = [finding for finding in result.findings if finding.rule == LOAD_ERROR]
    written = (tmp_path / "conf/httpd.conf").read_text().split("\n")
    assert [(written[one.place.line - 1], one.message.partition("does not read: ")[2]) for one in found] == [
        (line, message) for line, message in zip(lines, messages, strict=True) if message
    ]
    assert all(one.needs_review and one.risk is Risk.BREAKS and one.advice for one in found)


def test_more_hosts_than_are_compared_are_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_sides = create_autospec(upgraded.load_sides)
    monkeypatch.setattr(upgraded, "load_sides", load_sides)
    monkeypatch.setattr(unverified, "MAX_HOSTS", 1)
    hosts = "".join(f"<VirtualHost *:808{n}>\nServerName h{n}\n</VirtualHost>\n" for n in range(2))
    sources = Sources(options=options_of(tmp_path, hosts))
    result, text = upgrade_sources(sources, UpgradeOptions(), Selection(), is_verified=True)
    assert text.startswith("not verified: more than 1 virtual hosts")
    assert result.scope.deciding
    load_sides.assert_not_called()


def test_the_end_of_the_time_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The changes were asked about in part: the sentence has the time, and the scope is not complete."""
    monkeypatch.setattr(upgraded, "MAX_SECONDS", -1.0)
    text, result = verified(tmp_path, PRIVATE)
    assert text.startswith("verified with 0 requests and 0 chains of sections (stopped after ")
    assert any("not every request was asked" in item.subject for item in result.scope.deciding)
    assert result.scope.exit_code(0) == 3


def test_the_time_is_that_of_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs that keep this one from the processor cut no comparison."""
    clock = count(0.0, 10.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    text, result = verified(tmp_path, PRIVATE)
    assert text.startswith("verified with ") and "stopped" not in text
    assert not [item for item in result.scope.deciding if "not every request" in item.subject]


def test_a_difference_is_shown_once(tmp_path: Path) -> None:
    """The other findings at its lines name the one that shows it."""
    _, result = verified(tmp_path, PRIVATE)
    plain = [replace(one, safety=Safety.SAFE, evidence="") for one in result.findings if one.edits][:2]
    places = [(one.place.path, one.place.line) for one in plain]
    assert len(set(places)) == 2
    answers = Answer(200), Answer(404)
    difference = Difference((FieldDifference("status", "200" * 99, "404"),))
    example = Example(Probe("/"), difference, *answers)
    group = DifferenceGroup("response", Cause((), ()), [example], 1)
    lowered = lower_unconfirmed(plain, dict.fromkeys(places, group))
    assert [one.safety for one in lowered] == [Safety.REVIEW, Safety.REVIEW]
    assert lowered[0].evidence.startswith("differs: GET http://") and len(lowered[0].evidence) == 200
    assert lowered[1].evidence == (
        f"differs: see {plain[0].rule} at {plain[0].place.path}:{plain[0].place.line}"
    )


COMPRESSED = """LoadModule deflate_module modules/mod_deflate.so
AddOutputFilterByType DEFLATE text/html text/plain
"""


def test_what_a_note_leaves_alone_is_not_for_review(tmp_path: Path) -> None:
    """Bodies of few bytes that 2.4 does not compress are no reason to review that mod_filter is loaded."""
    text, result = verified(tmp_path, COMPRESSED)
    assert {"C30", "C34"} <= {one.rule for one in result.findings}
    (loaded,) = [one for one in result.findings if "AddOutputFilterByType is its directive" in one.message]
    assert loaded.edits and loaded.safety is Safety.SAFE and not loaded.evidence
    assert (
        "no answer contradicts a safe change; 1 cause of other answers lies in the versions alone (" in text
    )


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (Answer(200, length=69), ("vary",)),
        (Answer(200, length=60), ("vary", "file")),
        (Answer(200, length=60), ("body",)),
        (Answer(404, length=60), ("status",)),
        (Answer(200, (("Content-Encoding", "gzip"),), length=60), ("vary",)),
    ],
)
def test_other_differences_of_compressed_answers_are_for_review(
    tmp_path: Path, answer: Answer, names: tuple[str, ...]
) -> None:
    _, result = verified(tmp_path, COMPRESSED)
    loaded = next(one for one in result.findings if "AddOutputFilterByType is its directive" in one.message)
    notes = [one for one in result.findings if one.rule in ("C30", "C34") and not one.edits]
    parts = tuple(FieldDifference(name, "a", "b") for name in names)
    example = Example(Probe("/"), Difference(parts), Answer(answer.status, length=60), answer)
    group = DifferenceGroup("response", Cause((), ()), [example], 1)
    place = loaded.place.path, loaded.place.line
    lowered = lower_unconfirmed([loaded, *notes], {place: group})
    assert lowered[0].safety is Safety.REVIEW


@pytest.mark.parametrize(
    ("status", "rule", "length", "is_noted"),
    [
        (200, "C30", 68, True),
        (200, "C30", 69, False),
        (200, "C34", 60, False),
        (399, "C30", 60, True),
        (400, "C30", 60, False),
        (400, "C34", 690, True),
        (404, "C34", 690, True),
    ],
)
def test_which_rule_notes_a_body_that_is_not_compressed(
    status: int, rule: str, length: int, is_noted: bool
) -> None:
    """C30: bodies of 68 bytes and less; C34: error pages, from 400 on (RFC 9110, 15), of any length."""
    difference = Difference((FieldDifference("vary", "a", "b"),))
    example = Example(Probe("/"), difference, Answer(status, length=length), Answer(status, length=length))
    assert upgraded._is_noted(example, {rule}) is is_noted


@pytest.mark.parametrize(
    ("review", "is_covered"),
    [(("f", 3), True), (("f", 1), True), (("f", 2), False), (("g", 3), False), (("written", 3), False)],
)
def test_a_finding_covers_the_line_by_which_24_decides_and_its_section(
    review: tuple[str, int], is_covered: bool
) -> None:
    """Not lines of files that the upgrade writes, nor those that decide nothing."""
    scope = LineScope("directory", "/x", "f", 1, ("", 0), None)
    lines = (
        DecidingLine("f", 2, role="section"),
        DecidingLine("f", 3, role="decides"),
        DecidingLine("written", 3, role="decides"),
    )
    opens = Example(Probe("/"), Difference(()), Answer(403), Answer(200))
    group = DifferenceGroup("access", Cause((), lines), [opens], 1)
    scopes = {("f", 3): scope}
    assert has_finding(group, frozenset((review,)), scopes, {"written"}) is is_covered
    other = DifferenceGroup("response", Cause((), lines), [replace(opens, old=Answer(200))], 1)
    assert not has_finding(other, frozenset((review,)), scopes, {"written"})


def test_progress_counts_the_requests(tmp_path: Path) -> None:
    options = options_of(tmp_path, PRIVATE)
    result = upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))
    reports: list[tuple[str, int, int]] = []
    verify_upgrade(result, options, lambda *report: reports.append(report))
    assert reports[0] == ("loading both versions", 0, 0)
    assert len(reports) > 3
    assert reports[1:] == [("requests to both versions", done, 0) for done in range(len(reports) - 1)]


def test_a_difference_that_a_rule_foresees_is_its_question_alone(tmp_path: Path) -> None:
    """R01 asks about the question mark, with the request that 2.4.60 refuses as its example."""
    lines = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"
    _sentence, result = verified(tmp_path, f"{lines}RewriteRule ^/alt/(.*)$ /neu/$1 [R,L]")
    found = [one for one in result.findings if "%3f" in f"{one.message}{one.evidence}"]
    assert [one.rule for one in found] == ["R01"] and found[0].risk is Risk.CLOSES
    assert "%3f from 192.0.2.1: status: 302 -> 403" in found[0].evidence.replace("%3fx", "%3f")
    places = [one.place for one in access_places(result, is_written=False)]
    assert {place.line for place in places if place is not None} == {found[0].place.line}


@pytest.mark.parametrize("comment", ["R01", "DIFF"])
def test_a_difference_that_a_comment_decides_is_no_question(tmp_path: Path, comment: str) -> None:
    rule = f"LoadModule rewrite_module m/mod_rewrite.so\nRewriteEngine On\n# whimbrel: ignore[{comment}]\n"
    text, result = verified(tmp_path, f"{rule}RewriteRule ^/alt/(.*)$ /neu/$1 [R=302,L]\n")
    assert DIFFERENCE not in [finding.rule for finding in result.findings]
    assert f"decided in the text: {comment} at {tmp_path}/conf/httpd.conf:" in text
    assert {(one.before, one.after) for one in result.access} == {(302, 403)}


def test_access_that_is_gained_stays_open_whatever_a_comment_says(tmp_path: Path) -> None:
    lines = BRANCHES.format(order="deny,allow\nDeny from all", word="granted").splitlines()
    text = "".join(f"# whimbrel: ignore[DIFF]\n{line}\n" for line in lines)
    _, result = verified(tmp_path, text)
    (found,) = [finding for finding in result.findings if finding.rule == DIFFERENCE]
    assert found.risk is Risk.OPENS and found.answers[0] == "yes: nothing records it"


def test_the_new_text_of_a_file_is_compared_behind_each_link(tmp_path: Path) -> None:
    """The same file serves both directories: with its old text 2.4 would answer 500 for one of them."""
    options_of(tmp_path, "")
    (tmp_path / "htdocs/place").mkdir()
    (tmp_path / "htdocs/place/.htaccess").write_text("Order deny,allow\nDeny from 192.0.2.9\n")
    (tmp_path / "htdocs/place/a.txt").write_text("a\n")
    (tmp_path / "htdocs/link").symlink_to("place")
    sentence, result = verified(tmp_path, "")
    assert f"{tmp_path}/htdocs/link/.htaccess" in result.files
    assert not result.needs_review
    assert "no answer contradicts a safe change" in sentence


OUTER_ANY = """<Files ~ "^\\.ht">
    Order allow,deny
    Deny from all
</Files>
<Directory "@ROOT@/htdocs/private">
    AuthType Basic
    AuthName private
    AuthUserFile @ROOT@/conf/users
    Require valid-user
    Order deny,allow
    Deny from all
    Satisfy any
</Directory>
"""


def test_a_section_that_refuses_more_is_one_question(tmp_path: Path) -> None:
    """An outer Satisfy any made 2.2 serve what <Files> guards (X12): of 2.4 the sections around it are not
    asked about again, as 2.4 refuses by <Files> alone.
    """
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf/users").write_text("anna:$apr1$Nc1Rb3gX$yrDpHiSwWDlUSDgxM1Yd5.\n")
    _, result = verified(tmp_path, OUTER_ANY)
    questions = [
        one for one in result.findings if one.needs_review and one.rule in ("X12", "C17", DIFFERENCE)
    ]
    assert [one.rule for one in questions] == ["X12"]
    assert "May these files be refused" in questions[0].decision
    assert any(one.risk is Risk.CLOSES for one in result.access)


@pytest.mark.parametrize("is_written", [False, True])
def test_access_is_due_to_the_line_that_decides_the_new_answer(tmp_path: Path, is_written: bool) -> None:
    """2.4 reads the branch with `Require all granted`; the number is one of the text at its place."""
    lines = BRANCHES.format(order="deny,allow\nDeny from all", word="granted")
    _sentence, result = verified(tmp_path, lines)
    path = tmp_path / "conf/httpd.conf"
    text = result.files[str(path)].decode() if is_written else path.read_text()
    gains = [one for one in access_places(result, is_written=is_written) if one.risk is Risk.OPENS]
    assert gains
    rows = text.splitlines()
    assert {rows[one.place.line - 1].strip() for one in gains if one.place is not None} == {
        "Require all granted"
    }
