"""Requests for files that do not exist yet: sections meet there that no present file brings together.

Where no text is right, the one is taken that admits the fewest.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.access import chains
from whimbrel.access.clients import ExampleClient
from whimbrel.access.decision import AccessVerdict, Counterexample
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.findings import IF_EVER
from whimbrel.upgrade.access_control.replacement import Replacement
from whimbrel.upgrade.access_control.sections import Chain
from whimbrel.upgrade.access_control.solver import SectionPlan
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.verify.loading import load_sides
from whimbrel.verify.verify import verify

FORBIDDEN, CHALLENGE, GRANTED = AccessVerdict.FORBIDDEN, AccessVerdict.CHALLENGE, AccessVerdict.GRANTED
DENIED = "Order allow,deny\nDeny from all\n"
ANY = f"{USER}Require user bob\nOrder deny,allow\nDeny from all\nAllow from 10.1\nSatisfy Any\n"
HEAD = f"{MODULES}DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\n</Directory>\n"
PATTERN = '<FilesMatch "\\.(bak|sql)$">\n%s</FilesMatch>\n'


def test_a_satisfy_any_below_keeps_its_users_for_a_file_that_may_come(tmp_path: Path) -> None:
    """2.2 admits bob to private/x.bak; with `Require all denied` in force there 2.4 answers 403."""
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": HEAD,
        "htdocs/.htaccess": PATTERN % DENIED,
        "htdocs/private/.htaccess": ANY,
        "htdocs/dump.sql": "",
    }
    result = upgrade(config_tree(tmp_path, files))
    inner = result.files[f"{tmp_path}/htdocs/private/.htaccess"].decode()
    assert inner.partition("<FilesMatch")[2].split("\n")[1].strip() == "Require user bob"
    assert "Require all denied" in result.files[f"{tmp_path}/htdocs/.htaccess"].decode()


def test_a_page_for_addresses_keeps_the_password_of_a_host_with_a_provider_alias(tmp_path: Path) -> None:
    """2.2 merges the Order of the page with the Require of the directory: an address and a password."""
    conf = (
        "LoadModule authn_alias_module modules/mod_authn_alias.so\n"
        + "NameVirtualHost *:80\n"
        + HEAD.replace("AllowOverride All", "Order allow,deny\nAllow from all\nDeny from env=bad_robot")
        + "<Location /server-status>\nOrder deny,allow\nDeny from all\nAllow from 10.1\n</Location>\n"
        + "<AuthnProviderAlias file partners>\nAuthUserFile conf/partners\n</AuthnProviderAlias>\n"
        + "<VirtualHost *:80>\nServerName a.example\nDocumentRoot ROOT/htdocs\n</VirtualHost>\n"
        + "<VirtualHost *:80>\nServerName p.example\nDocumentRoot ROOT/partner\n<Directory ROOT/partner>\n"
        + "AuthType Basic\nAuthName p\nAuthBasicProvider partners\nRequire valid-user\n"
        + "Order allow,deny\nAllow from all\n</Directory>\n</VirtualHost>\n"
    )
    tree = config_tree(tmp_path, {"conf/httpd.conf": conf, "htdocs/x": "", "partner/x": ""})
    text = upgrade(tree).files[f"{tmp_path}/conf/httpd.conf"].decode()
    main, _, host = text.rpartition("<VirtualHost")
    page = main.partition("<Location /server-status>")[2].partition("</Location>")[0]
    assert page.split("\n")[1:-1] == ["Require ip 10.1"]
    again = host.partition('<Location "/server-status">')[2].partition("</Location>")[0].split("\n")
    assert [line.strip() for line in again if line.strip()] == [
        "<RequireAll>",
        "Require ip 10.1",
        "Require valid-user",
        "</RequireAll>",
    ]


def test_a_request_without_a_right_text_is_a_finding_whatever_is_edited_around_it(tmp_path: Path) -> None:
    """The .htaccess file serves two hosts, so it cannot hold what the section of one host needs there."""
    host = "<VirtualHost *:80>\nServerName %s.example\nDocumentRoot ROOT/htdocs\n%s</VirtualHost>\n"
    section = (
        f"<Directory ROOT/htdocs/z>\n{USER}Require group staff\nOrder allow,deny\nAllow from 10.2\n"
        + PATTERN % f"{USER}Require valid-user\n"
        + "</Directory>\n"
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": HEAD + host % ("a", section) + host % ("b", ""),
        "htdocs/z/.htaccess": "Order allow,deny\nAllow from 10.2\n",
        "htdocs/z/a/.htaccess": ANY,
    }
    result = upgrade(config_tree(tmp_path, files))
    marked = [finding for finding in result.needs_review if finding.risk is Risk.CLOSES]
    assert any("if such a request is ever made: /z/a/" in finding.evidence for finding in marked)
    assert not any("nobody gains" in finding.advice for finding in marked)


def test_a_line_without_effect_names_the_section_that_it_replaced(tmp_path: Path) -> None:
    """`Allow from env=x` replaces the outer Deny from all in 2.2: everybody is admitted."""
    outer = "<Directory ROOT/htdocs/s>\nOrder deny,allow\nDeny from all\nAllow from 10.1\n</Directory>\n"
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": HEAD + outer,
        "htdocs/s/.htaccess": "Allow from env=x\n",
    }
    remarks = [finding.remark for finding in upgrade(config_tree(tmp_path, files)).findings if finding.remark]
    line = (MODULES + HEAD.removeprefix(MODULES)).count("\n") + 1
    assert remarks == [
        "`Allow from env=x` had no effect here in 2.2: its section replaced that of "
        f"conf/httpd.conf:{line}, which admits fewer clients"
    ]


def _plan(*verdicts: tuple[AccessVerdict, AccessVerdict] | None) -> SectionPlan:
    client = ExampleClient("192.0.2.1")
    examples = [None if pair is None else Counterexample(client, *pair) for pair in verdicts]
    return SectionPlan(Replacement(()), [(Chain(()), example) for example in examples])


@pytest.mark.parametrize("opening", [(FORBIDDEN, GRANTED), (CHALLENGE, GRANTED), None])
def test_a_text_that_admits_more_is_worse_than_one_that_refuses_more(
    opening: tuple[AccessVerdict, AccessVerdict] | None,
) -> None:
    closing = _plan((GRANTED, FORBIDDEN), (GRANTED, CHALLENGE), (CHALLENGE, FORBIDDEN))
    assert closing.weight < _plan(opening).weight
    assert _plan((GRANTED, FORBIDDEN)).weight < closing.weight
    assert _plan().weight < _plan((GRANTED, FORBIDDEN)).weight


def test_an_outer_section_takes_the_text_that_leaves_one_to_an_inner_section(tmp_path: Path) -> None:
    """2.2 merges the Satisfy Any of <Files> with the Require of the <Location>: carol gets /z/in/n.html."""
    conf = (
        f"{MODULES}DocumentRoot ROOT/htdocs\n<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
        f"<Directory ROOT/htdocs/z>\n{USER}</Directory>\n"
        f"<Directory ROOT/htdocs/y>\n{USER}Require valid-user\n</Directory>\n"
        f"<Files n.html>\n{DENIED}Satisfy Any\n</Files>\n"
        "<Location /z/in/>\nRequire user carol\n</Location>\n"
    )
    files: dict[str, str | bytes] = dict.fromkeys(
        ("htdocs/z/n.html", "htdocs/z/in/n.html", "htdocs/z/in/x.txt", "htdocs/y/n.html"), ""
    )
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": conf, **files}))
    text = result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    page = text.partition("<Location /z/in/>")[2].partition("</Location>")[0]
    assert [line.strip() for line in page.split("\n") if line.strip()] == ["Require user carol"]
    assert not any(finding.risk in (Risk.OPENS, Risk.CLOSES) for finding in result.needs_review)


SHARED = "<VirtualHost *:80>\nServerName %s.example\nDocumentRoot ROOT/htdocs\n%s</VirtualHost>\n"


def _server_without_the_file(lines: str) -> dict[str, str | bytes]:
    """Two hosts that share a directory with *lines* in its .htaccess file; <Files> of one names n.html.

    The file cannot hold what the section of one host needs there, and n.html is in another directory alone.
    """
    names = f"<Files n.html>\n{USER}Require user bob\n</Files>\n"
    other = f"<Directory ROOT/htdocs/y>\n{USER}Require user alice\n</Directory>\n"
    hosts = SHARED % ("a", names) + SHARED % ("b", "")
    return {
        "conf/httpd.conf": f"ServerRoot ROOT\nNameVirtualHost *:80\n{HEAD}{other}{hosts}",
        "conf/users": "bob:x\n",
        "htdocs/z/.htaccess": lines,
        "htdocs/z/f.html": "",
        "htdocs/y/n.html": "",
    }


def _finding_about_files(result: UpgradeResult) -> Finding:
    (found,) = (one for one in result.findings if IF_EVER in one.evidence)
    return found


def test_an_opening_for_a_file_that_may_come_is_to_decide_where_the_text_stays(tmp_path: Path) -> None:
    """2.2 merges the Order of the .htaccess file with the Require of <Files>: bob needs both."""
    files = _server_without_the_file("Order allow,deny\nAllow from 10.2\n")
    result = upgrade(config_tree(tmp_path, files))
    found = _finding_about_files(result)
    assert "<Files n.html>" in result.files[f"{tmp_path}/conf/httpd.conf"].decode()
    assert (found.risk, found.needs_review, found.edits) == (Risk.OPENS, True, ())
    assert "/z/n.html: GET from 192.0.2.1 as bob: 2.2 answers 403, 2.4 lets it in" in found.evidence


def test_verify_asks_for_a_file_that_may_come(tmp_path: Path) -> None:
    files = _server_without_the_file("Order allow,deny\nAllow from 10.2\n")
    result = upgrade(config_tree(tmp_path, files))
    old = LoadOptions(server_root=str(tmp_path))
    new = LoadOptions(server_root=str(tmp_path), overlay=dict(result.files))
    groups = verify(*load_sides((old, new), ("2.2", "2.4"), ("2.2", "2.4"))).groups
    asked = {example.probe.target for group in groups for example in group.examples if group.kind == "access"}
    assert "/z/n.html" in asked


def test_a_section_that_keeps_its_text_and_refuses_more_is_a_finding_without_a_decision(
    tmp_path: Path,
) -> None:
    """2.2 admits 10.2 without a password, by the Satisfy Any of the .htaccess file."""
    files = _server_without_the_file("Order allow,deny\nAllow from 10.2\nSatisfy Any\n")
    found = _finding_about_files(upgrade(config_tree(tmp_path, files)))
    assert (found.risk, found.needs_review, found.edits) == (Risk.CLOSES, False, ())
    assert "/z/n.html: GET from 10.2.0.1 without a password: 2.2 lets it in" in found.evidence


def test_an_opening_for_a_file_that_may_come_is_to_decide_where_the_text_changes(tmp_path: Path) -> None:
    """The new text has to repeat the Satisfy Any of the directory with the file, and holds in all others."""
    files = _server_without_the_file("Order allow,deny\nAllow from 10.2\n")
    order = "Order allow,deny\nAllow from 10.3\nSatisfy Any\n"
    text = str(files["conf/httpd.conf"]).replace("Require user alice\n", f"Require valid-user\n{order}")
    found = _finding_about_files(upgrade(config_tree(tmp_path, {**files, "conf/httpd.conf": text})))
    assert (found.risk, found.needs_review, bool(found.edits)) == (Risk.OPENS, True, True)


HIDDEN = '<FilesMatch "^\\.ht">\nOrder allow,deny\nDeny from all\nSatisfy All\n</FilesMatch>\n'
SEMINAR: dict[str, str | bytes] = {
    "conf/httpd.conf": HEAD + HIDDEN + PATTERN % "Order deny,allow\nDeny from all\n",
    "htdocs/private/.htaccess": ANY,
    "htdocs/private/index.html": "",
}


NARROW = "^(?!.*?(?:^\\.ht))(?=.*?(?:\\.(bak|sql)$))"


def test_a_repeated_section_leaves_out_names_that_another_section_refuses(tmp_path: Path) -> None:
    """2.2: Satisfy All of ^\\.ht holds for .htpasswd.bak, and refuses it; bob is admitted to x.bak.

    apache2 2.4.71 with a repetition that has these names admits bob to .htpasswd.bak; with this text it
    answers 403 to all for that name, and 200 to bob and 401 to others for x.bak.
    """
    result = upgrade(config_tree(tmp_path, SEMINAR))
    inner = result.files[f"{tmp_path}/htdocs/private/.htaccess"].decode()
    opening, _, rest = inner.partition("<FilesMatch ")[2].partition(">")
    assert opening == f'"{NARROW}"'
    assert rest.split("\n")[1].strip() == "Require user bob"
    assert not any(finding.risk in (Risk.OPENS, Risk.CLOSES) for finding in result.findings)


@pytest.mark.parametrize(("pattern", "opens"), [("\\.(bak|sql)$", True), (NARROW, False)])
def test_verify_asks_for_names_that_two_sections_match(tmp_path: Path, pattern: str, opens: bool) -> None:
    """The repetition for all names opens .htpasswd.bak to bob (apache2 2.4.71: 200), which 2.2 refuses."""
    files = dict(upgrade(config_tree(tmp_path, SEMINAR)).files)
    inner = f"{tmp_path}/htdocs/private/.htaccess"
    files[inner] = files[inner].decode().replace(NARROW, pattern).encode()
    old = LoadOptions(server_root=str(tmp_path))
    new = LoadOptions(server_root=str(tmp_path), overlay=files)
    groups = verify(*load_sides((old, new), ("2.2", "2.4"), ("2.2", "2.4"))).groups
    asked = [example.probe.target for one in groups if one.kind == "access" for example in one.examples]
    assert any(name.startswith("/private/.ht") for name in asked) is opens


def test_repeated_sections_stay_in_the_order_in_which_they_are_merged(tmp_path: Path) -> None:
    """Sections of names are merged in the order of the text (sections.html), repeated ones too.

    apache2 2.4.71 with the repetitions the other way round answers 401 to 10.1 for .ht.bak, which 2.2 admits:
    Satisfy Any of the second section holds there. Two rules report the two sections.
    """
    users = f"{USER}AuthGroupFile conf/groups\n"
    conf = (
        f"{MODULES}DocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs>\nAllowOverride All\nOrder allow,deny\n"
        f"Allow from all\n{users}Require group staff\n</Directory>\n"
        '<Files ~ "^\\.ht">\nOrder deny,allow\nDeny from 10.3\n</Files>\n'
        + PATTERN
        % "Order allow,deny\nAllow from 10.1\nSatisfy Any\n"
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": conf,
        "htdocs/a/.htaccess": f"{users}Require user bob\n",
        "htdocs/a/b/.htaccess": f"{users}Require user bob\n{DENIED}Satisfy Any\n",
    }
    result = upgrade(config_tree(tmp_path, files))
    for name in ("a", "a/b"):
        text = result.files[f"{tmp_path}/htdocs/{name}/.htaccess"].decode()
        assert text.index("^\\.ht") < text.index("(bak|sql)")


@pytest.mark.parametrize("others", [3, 90])
def test_a_loss_is_named_however_many_directories_come_before_it(tmp_path: Path, others: int) -> None:
    """2.2 admits bob to zz/.bak by Satisfy Any. A repetition of the pattern there opens zz/.svn.bak to him
    (apache2 2.4: 200), which the Satisfy All of the other section refuses, so that none is written.

    Each other directory with lines of its own is one more request for a file that may come.
    """
    refused = f'<DirectoryMatch "/\\.svn">\n{DENIED}Satisfy All\n</DirectoryMatch>\n'
    areas = "".join(
        f"<Directory ROOT/htdocs/d{number}>\nOrder allow,deny\nAllow from 10.{number}\n</Directory>\n"
        for number in range(others)
    )
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": HEAD + refused + PATTERN % DENIED + areas,
        **{f"htdocs/d{number}/index.html": "" for number in range(others)},
        "htdocs/zz/.htaccess": ANY,
    }
    result = upgrade(config_tree(tmp_path, files))
    assert "FilesMatch" not in result.files[f"{tmp_path}/htdocs/zz/.htaccess"].decode()
    place = (HEAD + refused).count("\n") + 1
    found = [one for one in result.findings if one.place.line == place]
    assert [one.risk for one in found] == [Risk.CLOSES]
    assert f"{IF_EVER}/zz/.bak: GET from " in found[0].evidence
    assert " as bob: 2.2 lets it in, 2.4 answers 403" in found[0].evidence
    assert "nobody gains" not in found[0].advice


@pytest.mark.parametrize("satisfy", ["Satisfy All\n", ""])
def test_a_directory_that_may_come_below_another_is_compared(tmp_path: Path, satisfy: str) -> None:
    """2.2: Satisfy All refuses all of private/.svn/; without it Satisfy Any of private/ admits bob there.

    apache2 2.4.71 with the pattern repeated in private/.htaccess admits bob to private/.svn/x.bak: it merges
    <Files> sections behind <DirectoryMatch>, those of .htaccess files too.
    """
    refused = f'<DirectoryMatch "/\\.svn/">\n{DENIED}{satisfy}</DirectoryMatch>\n'
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": HEAD + refused + PATTERN % DENIED,
        "htdocs/private/.htaccess": ANY,
    }
    result = upgrade(config_tree(tmp_path, files))
    inner = result.files[f"{tmp_path}/htdocs/private/.htaccess"].decode()
    place = (HEAD + refused).count("\n") + 1
    found = [one.risk for one in result.findings if one.place.line == place]
    if satisfy:
        assert "FilesMatch" not in inner
        assert found == [Risk.CLOSES]  # of private/x.bak
        return
    assert Risk.CLOSES not in found
    assert inner.partition("<FilesMatch")[2].split("\n")[1].strip() == "Require user bob"


def _advice_at(result: UpgradeResult, line: int) -> str:
    advice = (one.advice for one in result.findings if one.place.line == line)
    return next(text for text in advice if text.startswith("nobody"))


def test_a_section_of_a_request_that_was_not_decided_says_so(tmp_path: Path) -> None:
    """No version starts with such a Satisfy, so that nobody knows who was admitted."""
    inner = "<Directory ROOT/htdocs/s>\nOrder allow,deny\nAllow from 10.2\nSatisfy Perhaps\n</Directory>\n"
    outer = HEAD.replace("AllowOverride All", "Order allow,deny\nAllow from 10.1")
    files: dict[str, str | bytes] = {"conf/httpd.conf": outer + inner, "htdocs/s/x": ""}
    result = upgrade(config_tree(tmp_path, files))
    place = outer.count("\n") + 1
    advice = _advice_at(result, outer.partition("<Directory")[0].count("\n") + 1)
    together = f"who is admitted together with conf/httpd.conf:{place} was not decided"
    assert advice == f"nobody gains or loses access by this section alone; {together}"


def test_a_bound_that_was_met_is_in_the_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The <DirectoryMatch> is tried below no other directory, so that not every request is known."""
    monkeypatch.setattr(chains, "_MAX_BELOW", 0)
    refused = f'<DirectoryMatch "/\\.svn/">\n{DENIED}Satisfy All\n</DirectoryMatch>\n' + HIDDEN
    files: dict[str, str | bytes] = {"conf/httpd.conf": HEAD + refused, "htdocs/private/.htaccess": ANY}
    result = upgrade(config_tree(tmp_path, files))
    compared = "nobody gains or loses access in the requests that were compared, which are not all"
    assert _advice_at(result, HEAD.count("\n") + 1) == compared
