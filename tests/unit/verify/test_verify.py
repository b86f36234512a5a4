"""Verdicts: the differences that DESIGN records, equal texts, mirrored sides, what is not decided."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.modules.support.dbm import sdbm_writer
from whimbrel.verify import verify as verify_module
from whimbrel.verify.answer import DECIDES
from whimbrel.verify.config_lines import SideLines
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verification import DifferenceGroup, Verdict, VerifyResult, access_differences
from whimbrel.verify.verify import Comparison, verify

GUIDE_OLD = """<Directory "@ROOT@/htdocs/private">
AuthType Basic
AuthName Members
AuthUserFile conf/users
Order allow,deny
Deny from all
Allow from 10.0.0.0/8
Satisfy All
Require valid-user
</Directory>"""
GUIDE_NEW = """<Directory "@ROOT@/htdocs/private">
AuthType Basic
AuthName Members
AuthUserFile conf/users
<RequireAll>
Require valid-user
Require ip 10.0.0.0/8
</RequireAll>
</Directory>"""
EXACT = '<Directory "@ROOT@/htdocs/private">\nRequire all denied\n</Directory>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def access(result: VerifyResult) -> list[DifferenceGroup]:
    return [group for group in result.groups if group.kind == "access"]


def statuses(result: VerifyResult) -> set[tuple[int, int]]:
    return {(one.old.status, one.new.status) for group in result.groups for one in group.examples}


def test_the_guides_pair_admits_who_was_refused(root: Path) -> None:
    result = verify(side(root, "old", GUIDE_OLD, "2.2"), side(root, "new", GUIDE_NEW, "2.4"))
    (group,) = access(result)
    example = group.examples[0]
    assert result.verdict is Verdict.DIFFERENT and group.opens
    assert example.access == (403, 200)
    assert example.probe.client.startswith("10.") and example.probe.user is not None
    assert {line.line for line in group.cause.old} == {n for n, t in lines(root, "old") if "Order" in t} | {
        n for n, t in lines(root, "old") if t.split()[0] in ("Deny", "Allow", "Satisfy")
    }


def lines(root: Path, name: str) -> list[tuple[int, str]]:
    text = (root / "conf" / f"{name}.conf").read_text()
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def test_the_literal_equivalent_is_the_same(root: Path) -> None:
    old = GUIDE_OLD.replace("AuthType Basic\nAuthName Members\nAuthUserFile conf/users\n", "").replace(
        "Require valid-user\n", ""
    )
    result = verify(side(root, "old", old, "2.2"), side(root, "new", EXACT, "2.4"))
    assert access(result) == [] and result.not_decided == []


def test_a_location_over_a_denied_directory_differs_from_the_guide(root: Path) -> None:
    text = """<Directory "@ROOT@/htdocs/private">
Require all denied
</Directory>
<Location /private>
Order deny,allow
Deny from all
Allow from 127.0.0.1
</Location>"""
    result = verify(side(root, "real", text, "2.4"), side(root, "guide", text, "guide"))
    assert (403, 200) in statuses(result)


@pytest.mark.parametrize(
    ("dialects", "expected"), [(("2.4", "guide"), (500, 200)), (("2.2", "2.4"), (200, 500))]
)
def test_a_htaccess_file_without_any_allow_override(
    root: Path, dialects: tuple[str, str], expected: tuple[int, int]
) -> None:
    (root / "htdocs/private/.htaccess").write_text("SetEnv a b\n")
    result = verify(side(root, "old", "", dialects[0]), side(root, "new", "", dialects[1]))
    assert expected in statuses(result)


def test_one_text_under_one_version_is_the_same(root: Path) -> None:
    result = verify(side(root, "old", GUIDE_NEW, "2.4"), side(root, "new", GUIDE_NEW, "2.4"))
    assert result.verdict is Verdict.SAME and result.chains >= 2 and result.limits == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alias /x @ROOT@/htdocs/private", "Alias /x @ROOT@/htdocs"),
        ("Header set X-A 1", "Header set X-A 2"),
        (
            "RewriteEngine On\nRewriteRule ^/a(\\d+)$ /index.html",
            "RewriteEngine On\nRewriteRule ^/a(\\d+)$ /none",
        ),
        (
            "RewriteEngine On\nRewriteCond %{HTTP:X-Kind} ^new$\nRewriteRule ^/k$ /index.html [R]",
            "RewriteEngine On\nRewriteCond %{HTTP:X-Kind} ^old$\nRewriteRule ^/k$ /index.html [R]",
        ),
        ("SetEnvIf User-Agent ^Bot bad", "SetEnvIf User-Agent ^Cat bad"),
        (
            "<Location /private>\nRequire ip 10.1.2.0/24\n</Location>",
            "<Location /private>\nRequire ip 10.0.0.0/8\n</Location>",
        ),
        ("<Limit PUT>\nRequire all denied\n</Limit>", "<Limit DELETE>\nRequire all denied\n</Limit>"),
        ("ErrorDocument 404 none", "ErrorDocument 404 nothing"),
        ("AddType text/x-a .html", ""),
    ],
)
def test_changed_lines_are_found_and_mirrored(root: Path, old: str, new: str) -> None:
    if old.startswith("<Limit"):
        old, new = (f"<Location />\n{text}\n</Location>" for text in (old, new))
    sides = side(root, "old", old, "2.4"), side(root, "new", new, "2.4")
    forward, backward = verify(*sides), verify(*reversed(sides))
    assert forward.verdict is backward.verdict is Verdict.DIFFERENT
    assert statuses(forward) == {(new, old) for old, new in statuses(backward)}
    assert forward.differences == backward.differences
    assert any(group.cause.old or group.cause.new for group in forward.groups)


def test_a_configuration_that_does_not_load_is_the_result(root: Path) -> None:
    broken = side(root, "old", "Nonsense On", "2.4")
    result = verify(broken, side(root, "new", "", "2.4"))
    assert result.verdict is Verdict.DOES_NOT_LOAD and result.verdict.value == 2
    assert "Invalid command 'Nonsense'" in result.errors[0][0].text
    assert broken.errors[0].place is not None and broken.errors[0].place.path.endswith("old.conf")


def test_what_has_no_model_is_not_decided(root: Path) -> None:
    text = """<Location /private>
AuthType %s
AuthName x
AuthUserFile conf/users
Require valid-user
</Location>"""
    dynamic = text % '"%{req:X-Auth-Type}"'
    sides: list[Side] = [side(root, name, dynamic, "2.4") for name in ("old", "new")]
    result = verify(*sides)
    assert result.verdict is Verdict.NOT_DECIDED and result.verdict.value == 3
    assert "AuthType is an expression" in result.not_decided[0].reason


def test_directories_that_do_not_exist_are_compared(root: Path) -> None:
    text = """<VirtualHost *:8080>
ServerName a.test
DocumentRoot /nowhere/a
<Directory /nowhere/a/in>
Require all %s
</Directory>
</VirtualHost>"""
    sides = (
        side(root, "old", text % "denied", "2.4"),
        side(root, "new", text % "granted", "2.4"),
    )
    result = verify(*sides)
    assert result.verdict is Verdict.DIFFERENT and access(result)[0].examples[0].probe.host == "a.test:8080"
    assert [item.subject for item in result.scope.items] == ["directory /nowhere/a/ is not here"]


def test_hosts_that_are_not_asked_are_equal_to_one_that_is(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict stays *same*, and the result names the proof; a host with another line is asked."""
    monkeypatch.setattr("whimbrel.verify.verify._MANY", 2)
    monkeypatch.setattr("whimbrel.verify.derive.probes.MAX_FOLLOWERS", 1)
    host = "<VirtualHost *:8080>\nServerName h{n}.test\nDocumentRoot @ROOT@/htdocs\n{line}\n</VirtualHost>\n"

    def text(line: str) -> str:
        return "".join(host.format(n=n, line=line if n == 5 else "") for n in range(6))

    sides = side(root, "old", text(""), "2.4"), side(root, "new", text("") + "KeepAliveTimeout 5", "2.4")
    result = verify(*sides)
    assert result.verdict is Verdict.SAME
    (proof,) = [line for line in result.limits if line.startswith("hosts not asked: ")]
    assert "their lines are those of a host that was asked" in proof
    other = verify(side(root, "old", text(""), "2.4"), side(root, "new", text("Redirect 410 /x"), "2.4"))
    assert other.verdict is Verdict.DIFFERENT


def test_the_time_of_the_requests_is_shared_by_the_hosts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each host is asked, the sentence names how many were cut, and a number of requests knows no time."""
    host = "<VirtualHost *:8080>\nServerName h{n}.test\nAlias /a{n} @ROOT@/htdocs\n</VirtualHost>\n"
    text = "".join(host.format(n=n) for n in range(4))
    sides = side(root, "old", text, "2.4"), side(root, "new", text, "2.4")
    whole = verify(*sides)
    assert not any("processor time" in line for line in whole.limits)
    monkeypatch.setattr("whimbrel.verify.verify.MAX_SECONDS", 0.0)
    cut = verify(*sides)
    (sentence,) = [line for line in cut.limits if "processor time" in line]
    hosts = int(sentence.partition("the requests of ")[2].partition(" of ")[0])
    assert hosts >= 4 and "(h0.test:8080, h1.test:8080, " in sentence and "--limit N" in sentence
    assert hosts <= cut.probes < whole.probes
    assert not any("processor time" in line for line in verify(*sides, limit=40_000).limits)


def test_the_lines_of_a_cause_decide_all_its_requests(root: Path) -> None:
    """`Satisfy any` as <RequireAll>: the password refuses the clients of the network, and the network refuses
    all others, with a password or without."""
    old = GUIDE_NEW.replace("<RequireAll>", "Satisfy any\nOrder deny,allow\nDeny from all").replace(
        "Require ip 10.0.0.0/8\n</RequireAll>", "Allow from 10.0.0.0/8"
    )
    (group,) = access(verify(side(root, "old", old, "2.2"), side(root, "new", GUIDE_NEW, "2.4")))
    assert {(one.old.status, one.new.status) for one in group.examples} == {
        (200, 401),
        (200, 403),
        (401, 403),
    }
    deciding = [
        {one.text for one in row if one.role == DECIDES}
        for row in (group.joint_cause.old, group.joint_cause.new)
    ]
    assert deciding[1] == {"Require valid-user", "Require ip 10.0.0.0/8"}
    assert deciding[0] >= {"Require valid-user", "Deny from all", "Allow from 10.0.0.0/8", "Satisfy any"}


def test_each_request_has_the_line_that_gave_its_answer(root: Path) -> None:
    """Without `Satisfy any` the lists refuse a network, also with a password, and Require asks the others for
    one: the Require line is no reason for a 403 (request.c, ap_process_request_internal).
    """
    auth = "AuthType Basic\nAuthName x\nAuthUserFile conf/users\nRequire valid-user"
    lists = "Order allow,deny\nAllow from all\nDeny from 10.9.0.0/16"
    text = f'<Directory "@ROOT@/htdocs/private">\n{auth}\n{lists}\n%s</Directory>'
    sides = side(root, "old", text % "Satisfy any\n", "2.2"), side(root, "new", text % "", "2.4")
    found = {
        (one.answers[1], (root / "conf/new.conf").read_text().splitlines()[one.place.line - 1])
        for one in access_differences(verify(*sides).groups)
        if one.place is not None and one.place.path.endswith("new.conf")
    }
    assert found == {(401, "Require valid-user"), (403, "Deny from 10.9.0.0/16")}


def test_no_line_that_decides_is_cut_off(root: Path) -> None:
    """More of them than lines of a cause."""
    networks = "\n".join(f"Require ip 10.{number}.0.0/16" for number in range(9))
    new = GUIDE_NEW.replace("Require ip 10.0.0.0/8", f"<RequireAny>\n{networks}\n</RequireAny>")
    (group, *_) = access(verify(side(root, "old", GUIDE_NEW, "2.4"), side(root, "new", new, "2.4")))
    deciding = [one.text for one in group.joint_cause.new if one.role == DECIDES]
    assert set(networks.splitlines()) <= set(deciding)


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
def test_lines_are_spelled_as_in_the_file(root: Path, dialect: str) -> None:
    """Whoever searches the file for a line of the report finds it; tables of 2.4 spell `order`."""
    written = (
        "Order allow,deny",
        "Deny from all",
        "Allow from 10.0.0.0/8",
        "satisfy All",
        "ALLOWOVERRIDE None",
    )
    text = "\n".join(written)
    found = side(root, "new", f'<Directory "@ROOT@/htdocs/private">\n{text}\n</Directory>', dialect)
    assert set(written) <= {line.text for scope in SideLines(found).scopes for line in scope.lines}
    answer = found.answer(Probe("/private/", host="localhost"), with_lines=True)
    file = (root / "conf/new.conf").read_text()
    texts = {line.text for line in answer.lines if line.role == DECIDES}
    assert texts and all(text in file for text in texts)


@pytest.mark.parametrize("known", [1, 7])
def test_kept_answers_change_no_result(root: Path, monkeypatch: pytest.MonkeyPatch, known: int) -> None:
    """Each answer is that of a side which answers anew; what is kept has a bound."""
    pairs = [(GUIDE_OLD, "2.2", GUIDE_NEW), (GUIDE_NEW, "2.4", EXACT), (GUIDE_OLD, "2.2", EXACT)]

    def results() -> list[object]:
        out: list[object] = []
        for old, dialect, new in pairs:
            one = verify(side(root, "old", old, dialect), side(root, "new", new, "2.4"))
            kinds = [(group.kind, group.count, group.cause, group.examples) for group in one.groups]
            out.append((one.verdict, one.probes, one.not_decided, kinds))
        return out

    usual = results()
    monkeypatch.setattr(verify_module, "MAX_KNOWN", known)
    assert results() == usual
    comparison = Comparison(*(side(root, "old", GUIDE_OLD, "2.4") for _ in range(2)), VerifyResult())
    for number in range(20):
        comparison.compare_probe(Probe(f"/{number}"))
        assert len(comparison._known) <= known
    comparison._forget()
    assert not comparison._known and not comparison._compared


DBM = """<Directory "@ROOT@/htdocs/private">
AuthType Basic
AuthName Members
AuthBasicProvider dbm
AuthDBMType SDBM
AuthDBMUserFile conf/users.dbm
{lines}
</Directory>"""
DBM_OLD = "Require valid-user\nOrder deny,allow\nDeny from all\nAllow from 10.0.0.0/8\nSatisfy Any"
DBM_NEW = "Require ip 10.0.0.0/8\nRequire valid-user"


@pytest.mark.parametrize(
    ("users", "lost"),
    [
        ((b"emil", b"frieda"), set()),
        ((b"emil",), {"frieda"}),
    ],
)
def test_copies_of_a_dbm_file_have_the_same_users(
    tmp_path: Path, users: tuple[bytes, ...], lost: set[str]
) -> None:
    """Each entry counts, not the path: a user who is in one file alone is let in by that side alone."""
    sides = []
    texts = (("2.2", DBM_OLD, (b"emil", b"frieda")), ("2.4", DBM_NEW, users))
    for version, lines, names in texts:
        root = tmp_path / version
        make_root(root)
        pages, tree = sdbm_writer.files([(name, b"{SHA}x") for name in names])
        (root / "conf/users.dbm.pag").write_bytes(pages)
        (root / "conf/users.dbm.dir").write_bytes(tree)
        sides.append(side(root, version, DBM.format(lines=lines), version, "authn_dbm"))
        assert sides[-1].is_loaded, sides[-1].errors
    result = verify(*sides)
    assert not result.not_decided
    probes = [
        example.probe for group in result.groups if group.kind == "access" for example in group.examples
    ]
    assert {probe.user.name for probe in probes if probe.user is not None} == lost


BASIC = "AuthType Basic\nAuthName a\nAuthBasicProvider file\nAuthUserFile conf/users\n"


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (f"{BASIC}Require valid-user", 401),
        ("Require all denied", 403),
        ("AuthType None\nRequire valid-user", 500),
    ],
)
def test_an_example_has_the_lines_that_refused(root: Path, lines: str, status: int) -> None:
    """The statuses of access control; 500: a user is required, and nothing asks for one."""
    texts = [f"<Location />\n{text}\n</Location>\n" for text in (lines, "Require all granted")]
    sides = [side(root, name, text, "2.4") for name, text in zip(("old", "new"), texts, strict=True)]
    (group,) = verify(*sides, limit=50).groups
    example = group.examples[0]
    assert example.statuses == (status, 200)
    refusing, granting = ([line.text for line in row] for row in example.lines)
    assert lines.splitlines()[-1] in refusing and "Require all granted" in granting


@pytest.mark.parametrize("lines", ["Require ip 10.0.0.1", f"{BASIC}Require user alice"])
def test_the_response_behind_a_refusal_is_that_of_a_client_whom_both_admit(root: Path, lines: str) -> None:
    texts = [f"<Location />\n{lines}\nHeader set X-A {number}\n</Location>\n" for number in (1, 2)]
    sides = [side(root, name, text, "2.4") for name, text in zip(("old", "new"), texts, strict=True)]
    comparison = Comparison(*sides, VerifyResult(("old", "new")), 1)
    refused = Probe("/", host="localhost")
    comparison.compare_probe(refused)
    (group,) = comparison.found()
    assert group.examples[0].difference.names == ("x-a",)
    assert group.examples[0].probe != refused and group.examples[0].statuses == (200, 200)
