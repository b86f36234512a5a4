"""Fragments: what is around them may ask for a password, and no new text may let in whom 2.2 asked
for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import fragments

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk, UpgradeOptions
from whimbrel.upgrade.rules import rules_of

USER = "AuthType Basic\nAuthName x\nAuthUserFile /etc/users\nRequire valid-user\n"


def after(root: Path, name: str, text: str) -> tuple[str, list[bool]]:
    """The text after an upgrade of the file alone, and of each finding whether it needs review."""
    result = upgrade(fragments(root, {name: text}), rules_of("access"))
    return next(iter(result.files.values()), text.encode()).decode(), [
        finding.needs_review for finding in result.findings
    ]


def test_a_grant_stays_where_an_outer_area_may_ask_for_a_password(tmp_path: Path) -> None:
    # apache2: below Require valid-user, Allow from all is 401 and Require all granted is 200
    lists = "Order allow,deny\nAllow from all\n"
    for name, text in (
        (".htaccess", lists),
        ("a.conf", f"<Location />\n{lists}</Location>\n"),
        ("b.conf", "<Directory /srv>\nOrder deny,allow\nDeny from all\nAllow from 10\n</Directory>\n"),
    ):
        assert after(tmp_path / name[-6:], name, text) == (text, [True])


def test_lines_that_stay_break_the_start_and_the_finding_has_both_ways_out(tmp_path: Path) -> None:
    # apache2 without mod_access_compat: Invalid command 'Order'
    text = "Order allow,deny\nAllow from all\n"
    tree = fragments(tmp_path, {".htaccess": text})
    (finding,) = upgrade(tree, rules_of("access")).findings
    assert (finding.rule, finding.risk, finding.needs_review) == ("C17", Risk.BREAKS, True)
    assert "-f" in finding.advice
    assert "`whimbrel upgrade --assume no-outer-password`" in finding.advice


def test_with_the_assumption_the_lines_are_require(tmp_path: Path) -> None:
    text = "Order deny,allow\nDeny from all\nAllow from 10\n"
    tree = fragments(tmp_path, {".htaccess": text}, UpgradeOptions(no_outer_password=True))
    result = upgrade(tree, rules_of("access"))
    assert list(result.files.values()) == [b"Require ip 10\n"]
    assert not result.needs_review


def test_lines_beside_a_branch_for_24_that_stay_are_reported(tmp_path: Path) -> None:
    text = (
        "<IfModule mod_authz_core.c>\nRequire all granted\n</IfModule>\n"
        "<IfModule !mod_authz_core.c>\nOrder allow,deny\n</IfModule>\n"
    )
    assert after(tmp_path / "a", ".htaccess", text) == (text, [])
    assert after(tmp_path / "b", ".htaccess", f"{text}Allow from all\n")[1] == [True]


def test_a_test_for_the_module_needs_no_finding(tmp_path: Path) -> None:
    text = "<IfModule mod_access_compat.c>\nOrder allow,deny\nAllow from all\n</IfModule>\n"
    assert after(tmp_path, ".htaccess", text) == (text, [])


def test_what_stands_in_the_fragment_as_a_whole_is_written_anew(tmp_path: Path) -> None:
    text, found = after(tmp_path, ".htaccess", USER + "Order deny,allow\nDeny from all\nAllow from 10\n")
    assert (
        text
        == USER.replace("Require valid-user\n", "")
        + "<RequireAll>\n    Require ip 10\n    Require valid-user\n</RequireAll>\n"
    )
    assert found == [False]


def test_a_refusal_is_written_anew(tmp_path: Path) -> None:
    assert (
        after(tmp_path, "a.conf", '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\n</Files>\n')[
            0
        ].splitlines()[1]
        == "Require all denied"
    )


def test_a_group_file_that_is_elsewhere_says_nothing(tmp_path: Path) -> None:
    # a fragment has no place for the alias of `Require internal-server-error`
    (tmp_path / "users").write_text("a:b\n")
    text = (
        f"AuthType Basic\nAuthName x\nAuthUserFile {tmp_path}/users\n"
        f"AuthGroupFile {tmp_path}/elsewhere\nRequire group admin\n"
    )
    assert after(tmp_path, "sub/.htaccess", text)[0] == text


def test_any_location_of_a_fragment_may_lead_to_its_directories(tmp_path: Path) -> None:
    # apache2, with the directory below the document root: Order of the directory stays in force beside a
    # Require of the location
    text = (
        "<Directory /srv/a>\nOrder allow,deny\nAllow from 10\n</Directory>\n"
        f"<Location /b>\n{USER}Order deny,allow\nAllow from all\n</Location>\n"
    )
    changed, _ = after(tmp_path, "a.conf", text)
    assert "Order allow,deny\nAllow from 10\n" in changed
    assert "Order deny,allow" in changed.partition("<Location")[2]


def test_a_second_time_changes_nothing_where_old_and_new_words_are_in_one_section(tmp_path: Path) -> None:
    by_name = "AuthType Basic\nAuthName x\nAuthUserFile /etc/users\n"
    text = (
        "<Directory /srv>\n<IfDefine A>\nAllow from 127.0.0.0/30\n"
        f"{by_name}Require group wardens\n</IfDefine>\n"
        "<IfDefine B>\nDeny from 127.0.0.3\n</IfDefine>\nOrder allow,deny\n"
        "Allow from 127.0.0.3\n</Directory>\n"
        f"<Directory /srv/sub>\nOrder allow,deny\n<IfDefine C>\n{by_name}<IfDefine B>\n"
        "Require valid-user\n</IfDefine>\n"
        "<IfDefine !B>\nRequire user alice bob\n</IfDefine>\n</IfDefine>\n"
        "<IfDefine !C>\nOrder deny,allow\nAllow from 127.0.0.2\n</IfDefine>\n</Directory>\n"
    )
    first, _ = after(tmp_path, "a.conf", text)
    assert first != text
    assert after(tmp_path, "a.conf", first)[0] == first


def test_any_location_of_a_fragment_may_lead_to_its_files(tmp_path: Path) -> None:
    # apache2: Order of the location replaces that of the files, and not their Require
    text = (
        "<Location /sub>\nOrder deny,allow\n</Location>\n<Files *.txt>\n"
        "Order deny,allow\nDeny from all\n</Files>\n"
    )
    assert after(tmp_path, "a.conf", text)[0] == text


@pytest.mark.parametrize("inner", ["Deny from all\nAllow from 10.20\nSatisfy Any\n", "Allow from all\n"])
def test_all_lists_of_a_fragment_stay_or_none(tmp_path: Path, inner: str) -> None:
    """A list that stays around a section would be undone in it by Order, for mod_access_compat too."""
    outer = "<Directory /srv>\nOrder allow,deny\nAllow from all\nDeny from env=bad\n</Directory>\n"
    lists = f"Order deny,allow\n{inner}"
    text = f"{outer}<Directory /srv/staff>\n{USER}{lists}</Directory>\n"
    found, reviews = after(tmp_path, "a.conf", text)
    kept = [line for line in lists.splitlines() if line in found.partition("staff")[2]]
    assert not kept or found == text, found
    assert reviews.count(True) == 2
    alone = text.removeprefix(outer)
    assert "Order" not in after(tmp_path / "alone", "a.conf", alone)[0]
