"""Hosts that are alike get what each of them would get alone; those that only look alike are told apart."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.support.samples import amount
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.upgrade.access_control import analysis as controls
from whimbrel.upgrade.access_control import equal_findings
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.replacement import Repetition, Replacement
from whimbrel.upgrade.access_control.sections import find_sections
from whimbrel.upgrade.access_control.vhost_equivalence import VhostEquivalence
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.source.config_tree import ConfigTree

MODULES = "".join(
    f"LoadModule {n}_module modules/mod_{n}.so\n"
    for n in ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
)
MAIN = "DocumentRoot /srv/none\n<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
FILES = '<Files ~ "^\\.ht">\nOrder allow,deny\nDeny from all\n</Files>\n'


def host(number: int, body: str) -> str:
    return (
        f"<VirtualHost *:80>\nServerName s{number}\nDocumentRoot /srv/www/s{number}\n"
        f"{body.replace('@', str(number))}</VirtualHost>\n"
    )


def conf(bodies: list[str], main: str = MAIN) -> str:
    return MODULES + main + "".join(host(number, body) for number, body in enumerate(bodies))


def twins(root: Path, bodies: list[str], main: str = MAIN) -> int:
    found = config_tree(root, {"conf/httpd.conf": conf(bodies, main)})
    return len(VhostEquivalence(found, find_sections(found)).equivalents())


BOTH = "<Directory /srv/www/s@>\nOrder allow,deny\nAllow from 10.@.0.0/16\n</Directory>\n"


def test_folders_clients_users_and_files_are_a_hosts_own(tmp_path: Path) -> None:
    body = BOTH + (
        '<Location /admin>\nAuthType Basic\nAuthName "site @"\n'
        "AuthUserFile /srv/www/s@/.htpasswd\nRequire user bob@ root\n"
        "Order deny,allow\nDeny from all\nAllow from 10.@.0.0/16 example@.com\nSatisfy Any\n</Location>\n"
    )
    assert twins(tmp_path, [body] * 5) == 4


@pytest.mark.parametrize(
    "other",
    [
        BOTH.replace("Allow from", "Deny from"),
        BOTH.replace("/s@>", "/s@/x>"),
        BOTH.replace("Directory", "Location"),
        BOTH.replace("10.@.0.0/16", "10.@.0.0/16 10.@.3.0/24"),
        BOTH + "<Files x>\nOrder deny,allow\n</Files>\n",
        BOTH + "Alias /x /srv/x\n",
    ],
)
def test_other_sections_tell_hosts_apart(tmp_path: Path, other: str) -> None:
    assert twins(tmp_path, [BOTH, other]) == 0


def test_what_addresses_have_to_do_with_each_other_tells_hosts_apart(tmp_path: Path) -> None:
    body = "<Location /a>\nOrder allow,deny\nAllow from {}\nDeny from {}\n</Location>\n"
    assert twins(tmp_path, [body.format("10.1", "10.1.2"), body.format("10.2", "10.2.7")]) == 1
    assert twins(tmp_path, [body.format("10.1", "10.1.2"), body.format("10.2", "10.3.7")]) == 0
    assert twins(tmp_path, [body.format("a.com", "x.a.com"), body.format("b.com", "y.a.com")]) == 0
    everybody = MAIN + "<Location /b>\nOrder allow,deny\nAllow from 10.1\n</Location>\n"
    assert (
        twins(tmp_path, [BOTH, BOTH, BOTH], everybody) == 1
    )  # 10.1.0.0/16 is everybody's, the others are not


def test_sections_of_the_main_server_tell_hosts_apart(tmp_path: Path) -> None:
    assert (
        twins(tmp_path, [BOTH] * 3, MAIN + "<Directory /srv/www/s1>\nOrder allow,deny\n</Directory>\n") == 1
    )
    assert (
        twins(tmp_path, [BOTH] * 3, MAIN + "<Directory /srv/www/s1/deep>\nOrder allow,deny\n</Directory>\n")
        == 1
    )
    assert twins(tmp_path, [BOTH] * 3, MAIN + "<Directory /srv/*/s2>\nOrder allow,deny\n</Directory>\n") == 1
    assert (
        twins(tmp_path, [BOTH] * 3, MAIN + "<DirectoryMatch s2>\nOrder allow,deny\n</DirectoryMatch>\n") == 1
    )
    assert twins(tmp_path, [BOTH] * 3, MAIN + "Alias /all/ /srv/www/\n") == 0


ON_DISK = (
    "DocumentRoot ROOT/s@\n<Directory ROOT/s@>\nOrder allow,deny\nAllow from all\n</Directory>\n"
    "<Directory ROOT/s@/admin>\nOrder deny,allow\nDeny from all\nAllow from 10.@.0.0/16\n</Directory>\n"
)
HTACCESS = "Order allow,deny\nAllow from all\nDeny from 192.168.0.1\n<Files x>\nOrder deny,allow\n</Files>\n"


def on_disk(root: Path, names: list[str], htaccess: str = HTACCESS, main: str = MAIN) -> str:
    """Write a directory for each of four hosts, with the files *names* and a .htaccess file; return the
    text of the configuration."""
    for number in range(4):
        for name in names:
            (root / f"s{number}" / name).parent.mkdir(parents=True, exist_ok=True)
            (root / f"s{number}" / name).touch()
        (root / f"s{number}/.htaccess").write_text(htaccess)
    return conf([ON_DISK.replace("ROOT", str(root))] * 4, main)


def equivalents(root: Path, text: str) -> int:
    found = config_tree(root, {"conf/httpd.conf": text})
    return len(VhostEquivalence(found, find_sections(found)).equivalents())


def test_the_same_files_below_each_host_are_equivalent(tmp_path: Path) -> None:
    assert equivalents(tmp_path, on_disk(tmp_path, ["index.html", "admin/a.php"])) == 3


def test_a_file_of_one_host_alone_tells_it_apart(tmp_path: Path) -> None:
    text = on_disk(tmp_path, ["index.html"])
    (tmp_path / "s2/more.html").touch()
    assert equivalents(tmp_path, text) == 2


def test_another_text_in_htaccess_tells_the_host_apart(tmp_path: Path) -> None:
    text = on_disk(tmp_path, ["index.html"])
    (tmp_path / "s2/.htaccess").write_text(HTACCESS.replace("192.168.0.1", "192.168.0.2"))
    assert equivalents(tmp_path, text) == 2


@pytest.mark.parametrize("alias", ["s1", "s1/admin", ""])
def test_a_htaccess_file_that_two_servers_read_tells_the_host_apart(tmp_path: Path, alias: str) -> None:
    text = on_disk(tmp_path, ["admin/a.html"])
    (tmp_path / "s1/admin/.htaccess").write_text(HTACCESS)
    other = f"<VirtualHost *:80>\nServerName t\nDocumentRoot {tmp_path}/{alias}\n</VirtualHost>\n"
    assert equivalents(tmp_path, text + other) == (2 if alias else 0)


def test_patterns_of_the_main_server_are_tried_on_the_files(tmp_path: Path) -> None:
    pattern = '<DirectoryMatch "/s2/deep">\nOrder allow,deny\nDeny from all\n</DirectoryMatch>\n'
    assert equivalents(tmp_path, on_disk(tmp_path, ["deep/a"], main=MAIN + pattern)) == 2


def facts(found: ConfigTree) -> list[tuple[str, str, int, str]]:
    """The findings of all rules, without the requests that prove them."""
    findings = upgrade(found).findings
    return [(finding.rule, finding.place.path, finding.place.line, finding.message) for finding in findings]


@pytest.mark.parametrize("seed", range(amount(4, 12)))
def test_hosts_with_htaccess_files_become_what_each_would_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    htaccess = "".join(
        section(chance).split("\n", 1)[1].rpartition("</")[0] for _ in range(2)
    ) + chance.choice(
        [
            "",
            "<Files b>\nOrder deny,allow\nDeny from all\n</Files>\n",
            "<Limit POST>\nDeny from 10.2\n</Limit>\n",
        ]
    )
    text = on_disk(tmp_path, ["a/b", "f.html"], htaccess.replace("@", "1"), MAIN + chance.choice(["", FILES]))
    text += host(9, section(chance))
    assert equivalents(tmp_path, text) >= 1
    together = config_tree(tmp_path, {"conf/httpd.conf": text})
    edits = said(together)
    found = facts(together)
    monkeypatch.setattr(controls.VhostEquivalence, "equivalents", nobody)
    alone = config_tree(tmp_path, {"conf/httpd.conf": text})
    assert said(alone) == edits
    assert facts(alone) == found


# the same result ------------------------------------------------------------------------------------
def said(found: ConfigTree) -> list[tuple[str, str, list[str], int]]:
    """What every section becomes, in the order of the text."""
    made = analyze_access(found)
    return sorted(
        (
            unit.place.path,
            str(unit.place.line),
            [str(edit.edit) for edit in made.edits(found, unit)],
            len(written.failing),
        )
        for unit, written in made.plans.items()
    )


def section(chance: random.Random) -> str:
    lines = [
        "Order allow,deny",
        "Order deny,allow",
        "Allow from all",
        "Deny from all",
        "Allow from 10.@.0.0/16",
        "Deny from 10.@.1.0/24 10.9",
        "Satisfy Any",
        "Require user u@",
        "Require valid-user",
        "Allow from s@.example.com",
        "AuthType Basic\nAuthName s@\nAuthUserFile /srv/www/s@/users",
    ]
    opening = chance.choice(
        [
            "Directory /srv/www/s@",
            "Directory /srv/www/s@/a",
            "Location /l",
            "Files f.html",
            "Location /",
            'Files ~ "^\\.ht"',
        ]
    )
    return (
        f"<{opening}>\n"
        + "\n".join(chance.sample(lines, chance.randint(1, 5)))
        + f"\n</{opening.split()[0]}>\n"
    )


@pytest.mark.parametrize("seed", range(amount(10, 30)))
def test_one_answers_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    chance = random.Random(seed)
    shapes = ["".join(section(chance) for _ in range(4)) for _ in range(2)]
    text = conf(
        [shapes[number % 2] for number in range(5)],
        MAIN + chance.choice(["", FILES, section(chance).replace("@", "1")]),
    )
    first = config_tree(tmp_path, {"conf/httpd.conf": text})
    assert VhostEquivalence(first, find_sections(first)).equivalents()
    together = said(first)
    assert any(edits for _path, _line, edits, _failing in together)
    monkeypatch.setattr(controls.VhostEquivalence, "equivalents", nobody)
    assert said(config_tree(tmp_path, {"conf/httpd.conf": text})) == together


@pytest.mark.parametrize("seed", range(amount(8, 40)))
def test_equal_sections_share_the_words_of_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    text = on_disk(tmp_path, ["a/b"], HTACCESS, MAIN + chance.choice(["", FILES]))
    shape = "".join(section(chance) for _ in range(2))
    text += "".join(host(number, shape) for number in range(10, 14))
    together = judged(tmp_path, text)
    shared = []

    def note(_analysis: object, _section: object, finding: Finding) -> bool:
        shared.append(finding)
        return False

    monkeypatch.setattr(equal_findings, "_is_model", note)
    assert judged(tmp_path, text) == together
    assert shared


# hosts of 2.4 ---------------------------------------------------------------------------------------
MODULES_24 = "LoadModule authz_core_module modules/mod_authz_core.so\n"
CARRIED = (
    "<Directory /srv/www/s@>\nRequire ip 10.@.0.0/16\nRequire host h@.example.com\n</Directory>\n"
    "<Location /l>\n<RequireAll>\nRequire all granted\nRequire not ip 10.@.1.0/24\n</RequireAll>\n"
    "</Location>\n"
)


DENIED = "Order deny,allow\nDeny from all"
BRANCHES = (
    "<IfModule mod_authz_core.c>\nRequire all granted\n</IfModule>\n"
    f"<IfModule !mod_authz_core.c>\n{DENIED}\n</IfModule>"
)


def section_24(chance: random.Random) -> str:
    lines = [
        "Require all granted",
        "Require all denied",
        "Require ip 10.@.0.0/16",
        "Require host s@.example.com",
        "Require user u@",
        "Require valid-user",
        "AuthType Basic\nAuthName s@\nAuthUserFile /srv/www/s@/users",
        "<RequireAll>\nRequire all granted\nRequire not ip 10.@.1.0/24 10.9\n</RequireAll>",
        "<Limit POST>\nRequire ip 10.@.2\n</Limit>",
        "Require method GET",
        "<IfDefine X>\nRequire user x@\n</IfDefine>",
        "Order deny,allow\nDeny from all",
        "Order allow,deny\nAllow from 10.@.0.0/16",
    ]
    opening = chance.choice(
        ["Directory /srv/www/s@", "Directory /srv/www/s@/a", "Location /l", "Files f.html", "Location /"]
    )
    own = chance.sample(lines, chance.randint(1, 2))
    return f"<{opening}>\n" + "\n".join(own) + f"\n</{opening.split()[0]}>\n"


def judged(root: Path, text: str) -> list[Finding]:
    """The findings of all rules about the text as it stands, as `check` has them."""
    found = config_tree(root, {"conf/httpd.conf": text})
    found.is_judged = True
    return upgrade(found).findings


def test_hosts_of_24_are_equivalent(tmp_path: Path) -> None:
    assert twins(tmp_path, [CARRIED] * 5) == 4
    assert twins(tmp_path, [CARRIED, CARRIED.replace("h@.", "www.h@.")]) == 1
    assert twins(tmp_path, [CARRIED, CARRIED.replace("10.@.1.0/24", "192.168.@.0/24")]) == 0
    assert twins(tmp_path, [CARRIED, CARRIED.replace("not ip", "not host")]) == 0


def test_conditions_tell_hosts_of_24_apart(tmp_path: Path) -> None:
    branch = "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n"
    assert twins(tmp_path, [f"<Directory /srv/www/s@>\n{branch}</Directory>\n"] * 3) == 0
    override = "<Directory /srv/www/s@/b>\n<IfDefine X>\nAllowOverride None\n</IfDefine>\n</Directory>\n"
    assert twins(tmp_path, [CARRIED + override] * 3) == 0


@pytest.mark.parametrize("seed", range(amount(12, 60)))
def test_hosts_of_24_are_found_what_each_would_be_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    modules = chance.choice(["", MODULES_24])
    shapes = ["".join(section_24(chance) for _ in range(3)) for _ in range(2)]
    main = chance.choice([MAIN, MAIN.replace(DENIED, "Require all denied"), MAIN.replace(DENIED, BRANCHES)])
    htaccess = chance.choice([HTACCESS, "Require ip 10.3\n", "Require all granted\n"])
    text = modules + on_disk(tmp_path, ["a/b", "f.html"], htaccess, main)
    text += "".join(host(number, shapes[number % 2]) for number in range(10, 15))
    together = judged(tmp_path, text)
    monkeypatch.setattr(controls.VhostEquivalence, "equivalents", nobody)
    alone = judged(tmp_path, text)
    assert [without_client(one) for one in together] == [without_client(one) for one in alone]


def without_client(finding: Finding) -> Finding:
    """A finding without the request that proves it, which may be one of an equivalent host."""
    return replace(finding, evidence="", decision="")


def test_sections_of_the_main_server_are_repeated_in_every_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a file that everybody's <Files> denies may be seen with a password where Satisfy Any holds
    body = (
        "<Directory /srv/www/s@>\nAuthType Basic\nAuthName s@\n"
        "AuthUserFile /srv/www/s@/users\nRequire user u@\nOrder deny,allow\n"
        "Deny from all\nAllow from 10.@.0.0/16\nSatisfy Any\n</Directory>\n"
    )
    plain = "<Directory /srv/www/s@>\nOrder allow,deny\nAllow from all\n</Directory>\n"
    text = conf(
        [body, plain, body, plain, body],
        MAIN + FILES + "<DirectoryMatch deep>\nOrder allow,deny\nDeny from all\n</DirectoryMatch>\n",
    )
    first = config_tree(tmp_path, {"conf/httpd.conf": text})
    assert len(VhostEquivalence(first, find_sections(first)).equivalents()) == 3
    together = analyze_access(first)
    assert max(len(written.replacement.repeats) for written in together.plans.values()) >= 3
    monkeypatch.setattr(controls.VhostEquivalence, "equivalents", nobody)
    first.cache.clear()
    alone = analyze_access(first)
    own = {unit.statement: unit for unit in alone.inventory.sections}
    forms = {
        own[unit.statement]: Replacement(
            form.control,
            tuple(Repetition(own[r.holder.statement], r.control, r.prefix) for r in form.repeats),
        )
        for unit, form in together.replacements.items()
    }
    assert len(alone.chains) > len(together.chains)
    assert not [
        chain for chain in alone.chains if chain.is_certain and alone.decisions.differs(chain, forms)[0]
    ]


def test_examples_of_another_host_are_told_as_such(tmp_path: Path) -> None:
    body = (
        "<Location /admin>\nAuthType Basic\nAuthName x\nAuthUserFile /srv/users\n"
        "Require valid-user\nOrder allow,deny\nDeny from all\n"
        "Allow from 10.@.0.0/16\nSatisfy All\n</Location>\n"
    )
    found = [
        finding
        for finding in upgrade(config_tree(tmp_path, {"conf/httpd.conf": conf([body, body])})).findings
        if finding.rule == "C19"
    ]
    first, second = (finding.evidence for finding in found)
    assert first.startswith("GET from 10.0.")
    assert (
        second
        == f"{first}\n(with the addresses and names of the equivalent section in line {found[0].place.line})"
    )


def nobody(_self: VhostEquivalence) -> dict[object, object]:
    return {}
