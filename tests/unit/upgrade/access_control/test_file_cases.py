"""Sections whose right text depends on the name of a file get an <If>; every chain decides as by 2.2 then."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES, USER, text_after
from tests.unit.upgrade.config_trees import config_tree, fragments, laid

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.analysis import AccessAnalysis, analyze_access
from whimbrel.upgrade.access_control.replacement import Replacement
from whimbrel.upgrade.access_control.sections import find_sections
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Style, UpgradeOptions
from whimbrel.verify.loading import load_sides
from whimbrel.verify.probe import Probe
from whimbrel.verify.side import Side
from whimbrel.verify.verify import verify

NAME = "%{REQUEST_FILENAME} =~ m#^/(?:[^/]*/)*([^/]*)$# && $1"
DOCUMENTS = "DocumentRoot ROOT/htdocs\n"
AREA = f"<Directory ROOT/htdocs/n>\n{USER}AuthGroupFile conf/groups\n</Directory>\n"
FILES = "<Files x.html>\nSatisfy Any\nOrder deny,allow\nAllow from env=!key\nRequire user bob\n</Files>\n"
LOCATION = (
    "<Location /n>\nOrder allow,deny\nAllow from all\nDeny from 127.0.0.2\nRequire user alice\n</Location>\n"
)
# recorded: authz-nested-0008, zone n05 (2.2 admits 127.0.0.1 without a password to the file of the section)
NESTED = DOCUMENTS + AREA + FILES + LOCATION
# recorded: authz-nested-0014, zone n24
INNER_FILES = (
    DOCUMENTS
    + AREA
    + f"<Directory ROOT/htdocs/n/in>\n<Files *.html>\n{USER}Satisfy Any\nOrder allow,deny\nAllow from 10\n"
    "</Files>\n</Directory>\n"
    "<Location /n>\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.1\nRequire group staff\n</Location>\n"
)
# after authz-nested-0001, zone n08; the Files section needs a Require for its AuthType
BEFORE_FILES = (
    DOCUMENTS
    + AREA
    + "<DirectoryMatch /n/in>\n<Limit GET>\nRequire group staff\n</Limit>\nOrder allow,deny\nAllow from all\n"
    "</DirectoryMatch>\n"
    + f"<Files x.html>\n{USER}Allow from 127.0.0.1\nDeny from 127\nSatisfy Any\n</Files>\n"
    + "<Location /n>\nSatisfy Any\nOrder deny,allow\nDeny from all\n</Location>\n"
)
# httpd 2.2, request.c and mod_authz_host.c: Order, Require and Satisfy merge apart from each other: the
# directory admits users and all clients that are not refused, its .ht files those who are both
DIRECTORY = (
    DOCUMENTS
    + "<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
    + '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\nSatisfy All\n</Files>\n'
    + f"<Directory ROOT/htdocs/n>\n{USER}Require user alice\nSatisfy Any\n</Directory>\n"
    + "<Location />\nOrder allow,deny\nAllow from all\nDeny from 127.0.0.2\n</Location>\n"
)
USERS = (
    DOCUMENTS
    + "UserDir ROOT/homes/*/web\n<Directory ROOT/homes/*/web>\nAllowOverride All\n</Directory>\n"
    + "<Location />\nOrder allow,deny\nAllow from all\nDeny from 127.0.0.2\n</Location>\n"
)
PAGES: dict[str, str | bytes] = {
    "htdocs/n/.htpasswd": "",
    "htdocs/n/x.html": "",
    "htdocs/n/y.html": "",
    "htdocs/n/in/x.html": "",
    "htdocs/n/in/y.html": "",
    "htdocs/x.html": "",
    "conf/users": "alice:x\n",
    "conf/groups": "staff: alice\n",
}


def analyzed(root: Path, conf: str, options: UpgradeOptions | None = None) -> AccessAnalysis:
    return analyze_access(config_tree(root, {"conf/httpd.conf": MODULES + conf, **PAGES}, options=options))


def sides(root: Path, conf: str) -> tuple[Side, Side]:
    """The text under 2.2, and the upgraded text under 2.4."""
    result = upgrade(config_tree(root, {"conf/httpd.conf": MODULES + conf, **PAGES}))
    options = LoadOptions(server_root=str(root))
    upgraded = LoadOptions(server_root=str(root), overlay=dict(result.files))
    return load_sides((options, upgraded), ("2.2", "2.4"), ("2.2", "2.4"))


def differing(made: AccessAnalysis) -> list[str]:
    """The URLs of certain chains that the new text decides otherwise than 2.2."""
    return [
        chain.url
        for chain in made.decisions.chains
        if chain.is_certain and made.decisions.differs(chain, made.variant_forms)[0]
    ]


def test_the_files_of_a_section_have_their_own_decision_in_a_later_location(tmp_path: Path) -> None:
    laid(tmp_path, PAGES)
    after = text_after(tmp_path, NESTED)
    location = after.partition("<Location /n>\n")[2].partition("</Location>")[0]
    plain, _, case = location.partition(f"<If \"{NAME} == 'x.html'\">\n")
    # 2.2 merges Order of the Location, its Require, and Satisfy of the Files section
    assert [line.strip() for line in plain.split("\n") if line.strip()] == [
        "<RequireAll>",
        "Require not ip 127.0.0.2",
        "Require user alice",
        "</RequireAll>",
    ]
    assert [line.strip() for line in case.split("\n") if line.strip()] == [
        "<RequireAll>",
        "Require all granted",
        "Require not ip 127.0.0.2",
        "</RequireAll>",
        "Require user alice",
        "</If>",
    ]
    assert text_after(tmp_path, after) == after


@pytest.mark.parametrize("conf", [NESTED, INNER_FILES, BEFORE_FILES, DIRECTORY])
def test_every_certain_chain_decides_as_by_2_2(tmp_path: Path, conf: str) -> None:
    made = analyzed(tmp_path, conf)
    assert [plan for plan in made.plans.values() if plan.replacement.cases]
    assert any(chain.is_certain for chain in made.decisions.chains)
    assert differing(made) == []


def test_files_of_one_directory_are_told_by_their_path(tmp_path: Path) -> None:
    laid(tmp_path, PAGES)
    after = text_after(tmp_path, INNER_FILES)
    directory = str(tmp_path / "htdocs/n/in")
    assert f"m#^{directory}/(?:[^/]*/)*([^/]*)$# && $1 -fnmatch '*.html'" in after.partition("<Location")[2]


def test_a_case_stands_in_the_section_that_tells_chains_apart(tmp_path: Path) -> None:
    """The users of 2.2 are those of the <DirectoryMatch>: the <Location> is right for both directories."""
    laid(tmp_path, PAGES)
    after = text_after(tmp_path, BEFORE_FILES)
    assert "<If" in after.partition("<DirectoryMatch")[2].partition("</DirectoryMatch>")[0]
    assert "<If" not in after.partition("</DirectoryMatch>")[2]


def test_a_directory_has_its_own_decision_in_a_later_location(tmp_path: Path) -> None:
    """apache2 2.4.71 answers such a text so: a refused client may log in there, and nowhere else."""
    made = analyzed(tmp_path, DIRECTORY)
    plan = next(
        plan for section, plan in made.plans.items() if section.pattern == "/" and plan.replacement.cases
    )
    assert [(len(case.files), case.holder is not None) for case in plan.replacement.cases] == [
        (0, True),
        (1, True),
    ]
    assert not plan.failing and not plan.possible
    after = text_after(tmp_path, DIRECTORY)
    location = after.partition("<Location />\n")[2].partition("</Location>")[0]
    assert location.count(f'<If "%{{REQUEST_FILENAME}} =~ m#^{tmp_path}/htdocs/n(?:/|$)#') == 2
    assert "Require user alice" not in location.partition("<If")[0]


def test_a_location_keeps_the_passwords_of_the_directories_of_users(tmp_path: Path) -> None:
    """httpd 2.2: Order of the <Location> replaces that of the .htaccess file, its Require stays in force."""
    laid(tmp_path, {"homes/alice/web/.htaccess": USER + "Require valid-user\n"})
    made = analyzed(tmp_path, USERS)
    urls = {chain.url for chain in made.decisions.chains}
    assert any(url.startswith("/~alice") for url in urls)
    wrong = [
        chain.url for chain in made.decisions.chains if made.decisions.differs(chain, made.variant_forms)[0]
    ]
    assert wrong == []


@pytest.mark.parametrize("conf", [NESTED, INNER_FILES, BEFORE_FILES, DIRECTORY])
def test_verify_knows_the_condition(tmp_path: Path, conf: str) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf, **PAGES})
    result = upgrade(tree)
    assert b"<If " in result.files[f"{tmp_path}/conf/httpd.conf"]
    old = LoadOptions(server_root=str(tmp_path))
    new = LoadOptions(server_root=str(tmp_path), overlay=dict(result.files))
    verified = verify(*load_sides((old, new), ("2.2", "2.4"), ("2.2", "2.4")))
    assert verified.chains > 3
    assert [group for group in verified.groups if group.kind == "access"] == []
    assert not any("<if " in one.reason for one in verified.not_decided)


def test_verify_sees_a_case_that_decides_otherwise(tmp_path: Path) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + NESTED, **PAGES})
    files = dict(upgrade(tree).files)
    main = f"{tmp_path}/conf/httpd.conf"
    head, case, rest = files[main].partition(b"<If ")
    files[main] = head + case + rest.replace(b"Require not ip 127.0.0.2", b"Require not ip 127.0.0.3", 1)
    old = LoadOptions(server_root=str(tmp_path))
    new = LoadOptions(server_root=str(tmp_path), overlay=files)
    groups = verify(*load_sides((old, new), ("2.2", "2.4"), ("2.2", "2.4"))).groups
    targets = {
        example.probe.target for group in groups if group.kind == "access" for example in group.examples
    }
    assert "/n/x.html" in targets


@pytest.mark.parametrize("options", [UpgradeOptions(also_22=True), UpgradeOptions(style=Style.COMPAT)])
def test_text_of_both_versions_and_the_least_change_have_no_case(
    tmp_path: Path, options: UpgradeOptions
) -> None:
    made = analyzed(tmp_path, NESTED, options)
    assert not [plan for plan in made.plans.values() if plan.replacement.cases]


def test_a_file_without_its_server_has_no_case(tmp_path: Path) -> None:
    made = analyze_access(fragments(tmp_path, {"site.conf": FILES + LOCATION}))
    assert not [plan for plan in made.plans.values() if plan.replacement.cases]


def test_a_pattern_that_no_condition_can_hold_leaves_the_section_marked(tmp_path: Path) -> None:
    conf = NESTED.replace("<Files x.html>", '<FilesMatch "^x|#,;!%_">').replace("</Files>", "</FilesMatch>")
    made = analyzed(tmp_path, conf)
    assert not [plan for plan in made.plans.values() if plan.replacement.cases]
    assert [plan for plan in made.plans.values() if plan.failing]


def test_sections_under_open_conditions_have_no_case(tmp_path: Path) -> None:
    made = analyzed(tmp_path, NESTED.replace(FILES, f"<IfDefine X>\n{FILES}</IfDefine>\n"))
    assert not [plan for plan in made.plans.values() if plan.replacement.cases]


def test_the_files_of_one_host_do_not_decide_in_a_location_of_all_hosts(tmp_path: Path) -> None:
    """The condition would hold for files of the same name at other hosts too."""
    host = "<VirtualHost *:80>\nServerName %s.example\n%s" + DOCUMENTS + "%s</VirtualHost>\n"
    conf = (
        "NameVirtualHost *:80\n"
        + DOCUMENTS
        + AREA
        + LOCATION
        + host % ("a", "", FILES)
        + host % ("b", "", "")
    )
    made = analyzed(tmp_path, conf)
    assert not [
        plan for section, plan in made.plans.items() if plan.replacement.cases and section.server is None
    ]


def test_lines_that_stay_keep_their_places(tmp_path: Path) -> None:
    """httpd, mod_access_compat.c and mod_authz_core.c: Satisfy and Require set different fields."""
    own = f"{USER}Require user alice\nOrder deny,allow\nDeny from all\nAllow from 10\nSatisfy Any\n"
    conf = DIRECTORY.replace(f"{USER}Require user alice\nSatisfy Any\n", "AllowOverride All\n")
    files: dict[str, str | bytes] = {**PAGES, "htdocs/n/.htaccess": own}
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + conf, **files})
    made = analyze_access(tree)
    section = next(section for section in made.plans if section.in_htaccess)
    stays = made.decisions.control_lines[section]
    moved = (*(line for line in stays if line.name != "require"), *stays[:1])
    assert stays[0].name == "require" and moved != stays
    assert made.edits(tree, section, Replacement(moved)) == ()
    others = (moved[0], moved[2], moved[1], *moved[3:])
    assert made.edits(tree, section, Replacement(others)) != ()


def test_of_many_users_it_is_said_that_some_were_left_out(tmp_path: Path) -> None:
    files = {f"homes/u{number}/web/.htaccess": USER + "Require valid-user\n" for number in range(70)}
    tree = config_tree(tmp_path, {"conf/httpd.conf": MODULES + USERS, **files})
    paths = [path for path, _ in find_sections(tree).aliases[None]]
    assert len(paths) == 64 and all(path.startswith("/~u") for path in paths)
    assert [item for item in tree.unread if "users of UserDir" in item.subject]


def test_no_case_by_the_directory_of_one_host_for_a_section_of_all(tmp_path: Path) -> None:
    # 2.2 answers 401 for one.test/n/in/x.html: its <Files> section asks for a user, and the <Location> has
    # no lists for GET. apache2 2.4 answers 200 if an <If> for the directory of the other host precedes that.
    conf = (
        "NameVirtualHost *\n"
        '<Location ~ "/in/">\n<Limit POST>\nOrder allow,deny\nAllow from env=ok\n</Limit>\n'
        f"</Location>\n<VirtualHost *>\nServerName one.test\nDocumentRoot ROOT/htdocs\n<Files ~ html>\n{USER}"
        "Require valid-user\nOrder allow,deny\nDeny from all\n</Files>\n</VirtualHost>\n"
        "<VirtualHost *>\nServerName two.test\nDocumentRoot ROOT/htdocs\n<Directory ROOT/htdocs/n>\n"
        f"<Limit GET>\nOrder deny,allow\nDeny from env=ok\n</Limit>\n{USER}Require user alice\n"
        "Order allow,deny\nAllow from all\nSatisfy Any\n</Directory>\n</VirtualHost>\n"
    )
    made = analyzed(tmp_path, DOCUMENTS + conf)
    holders = [
        (section.server, case.holder.server)
        for section, plan in made.plans.items()
        for case in plan.replacement.cases
        if case.holder is not None
    ]
    assert [holder for holder in holders if holder[1] not in (None, holder[0])] == []
    old, new = sides(tmp_path, DOCUMENTS + conf)
    probe = Probe("/n/in/x.html", host="one.test")
    assert (old.answer(probe).status, new.answer(probe).status) == (401, 401)


def test_an_if_is_right_wherever_it_applies(tmp_path: Path) -> None:
    """httpd 2.4 merges <If> last: its lines decide about inner directories, which require other groups, too.

    2.2: .ht files of n are for both groups, those of n/in for board alone; Satisfy All is that of <Files>.
    """
    users = f"{USER}AuthGroupFile conf/groups\n"
    conf = (
        f"{DOCUMENTS}"
        '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\nSatisfy All\n</Files>\n'
        '<FilesMatch "\\.(inc|tpl)$">\nOrder allow,deny\nDeny from all\n</FilesMatch>\n'
        "<Location /server-status>\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.1\n</Location>\n"
        "<Directory />\nOptions None\nAllowOverride None\n</Directory>\n"
        "<Directory ROOT/htdocs>\nAllowOverride All\nOrder allow,deny\nAllow from all\n</Directory>\n"
        f"<Directory ROOT/htdocs/n>\n{users}Require group staff board\nOrder deny,allow\nDeny from all\n"
        "Allow from 192.168.20.0/24\nSatisfy any\n</Directory>\n"
        "<Location />\nOrder allow,deny\nAllow from all\nDeny from 198.51.100.7\n</Location>\n"
    )
    inner = f"{users}Require group board\nOrder allow,deny\nSatisfy all\nAllow from 192.168.20.10 10.8.\n"
    public = "Order allow,deny\nAllow from all\n"
    files: dict[str, str | bytes] = {
        "conf/httpd.conf": MODULES + conf,
        "htdocs/n/in/.htaccess": inner,
        "htdocs/n/public/.htaccess": public,
        "htdocs/n/in/x.html": "",
        "htdocs/n/x.html": "",
        "htdocs/x.html": "",
        "conf/users": "alice:x\n",
        "conf/groups": "staff: alice\n",
    }
    analysis = analyze_access(config_tree(tmp_path, files))
    cases = [(unit, one) for unit, plan in analysis.plans.items() for one in plan.replacement.cases]
    decided = [
        chain
        for unit, case in cases
        for chain in analysis.decisions.chains
        if unit in chain.sections and case.applies(chain)
    ]
    assert decided
    assert not [chain for chain in decided if analysis.decisions.differs(chain, analysis.replacements)[0]]
