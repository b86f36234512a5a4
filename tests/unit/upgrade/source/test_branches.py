"""Which branches 2.2 and 2.4 take."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, fragments, lives

from whimbrel.upgrade.source.branches import Branches, maybe_and

LOADED = (
    "LoadModule ssl_module modules/mod_ssl.so\nLoadModule authz_default_module modules/mod_authz_default.so\n"
    "LoadModule php5_module libexec/libphp5.so\n"
)


@pytest.mark.parametrize(
    ("section", "taken"),
    [
        ("<IfModule mod_ssl.c>", (True, True)),
        ("<IfModule ssl_module>", (True, True)),
        ("<IfModule !mod_ssl.c>", (False, False)),
        ("<IfModule mod_rewrite.c>", (False, False)),
        ("<IfModule !mod_rewrite.c>", (True, True)),
        ("<IfModule mod_php5.c>", (True, True)),
        ("<IfModule libphp5.c>", (True, True)),
        ("<IfModule mod_authz_default.c>", (True, False)),  # loaded, but 2.4 has no such module
        ("<IfModule mod_authz_core.c>", (False, True)),
        ("<IfModule !mod_authz_core.c>", (True, False)),
        ("<IfModule mod_authn_core.c>", (False, None)),  # the upgrade may load it
        ("<IfModule mod_so.c>", (True, True)),
        ("<IfModule prefork.c>", (None, None)),
        ("<IfModule worker.c>", (None, None)),
        ("<IfModule mod_log_config.c>", (None, None)),  # compiled in on Debian, loaded elsewhere
        ("<IfVersion >= 2.4>", (False, True)),
        ("<IfVersion < 2.4>", (True, False)),
        ("<IfVersion !>= 2.3>", (True, False)),
        ("<IfVersion = /^2\\.2/>", (True, False)),
        ("<IfVersion ~ ^2\\.4>", (False, True)),
        ("<IfVersion foo 2.4>", (None, None)),
        ("<IfDefine SSL>", (True, True)),
        ("<IfDefine !SSL>", (False, False)),
        ("<IfDefine TEST>", (None, None)),
        *((f"<Require{word}>", (False, True)) for word in ("All", "Any", "None")),
        *((f"<{line}>", (False, True)) for line in ('If "true"', 'ElseIf "true"', "Else")),
        *((f"<If{word} x>", (False, None)) for word in ("File", "Directive", "Section")),
        ("<Directory />", (True, True)),
    ],
)
def test_a_branch(section: str, taken: tuple[bool | None, bool | None], tmp_path: Path) -> None:
    name = section[1:].split()[0].rstrip(">")
    found = config_tree(
        tmp_path, {"conf/httpd.conf": f"{LOADED}{section}\nInside on\n</{name}>\n"}, defines=("SSL",)
    )
    assert lives(found)["inside"] == taken


def test_inner_branches_can_only_take_away(tmp_path: Path) -> None:
    text = f"{LOADED}<IfModule mod_rewrite.c>\n<IfModule mod_ssl.c>\nInside on\n</IfModule>\n</IfModule>\n"
    assert lives(config_tree(tmp_path, {"conf/httpd.conf": text}))["inside"] == (False, False)


def test_a_module_counts_from_its_line_on(tmp_path: Path) -> None:
    early = "LoadModule dir_module m/mod_dir.so\n<IfModule mod_ssl.c>\nEarly on\n</IfModule>\n"
    text = early + LOADED + "<IfModule mod_ssl.c>\nLate on\n</IfModule>\n"
    found = lives(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert (found["early"], found["late"]) == ((False, False), (True, True))


def test_a_line_in_a_branch_that_may_be_taken_makes_the_module_uncertain(tmp_path: Path) -> None:
    text = (
        "<IfDefine X>\nLoadModule ssl_module m/mod_ssl.so\n</IfDefine>\n"
        "<IfModule mod_ssl.c>\nInside on\n</IfModule>\n"
    )
    assert lives(config_tree(tmp_path, {"conf/httpd.conf": text}))["inside"] == (None, None)


def test_without_load_module_lines_everything_may_be_compiled_in(tmp_path: Path) -> None:
    assert lives(
        config_tree(tmp_path, {"conf/httpd.conf": "<IfModule mod_ssl.c>\nInside on\n</IfModule>\n"})
    )["inside"] == (None, None)


def test_nobody_knows_the_modules_around_a_fragment(tmp_path: Path) -> None:
    text = (
        "<IfModule mod_ssl.c>\nA on\n</IfModule>\n<IfModule !mod_authz_core.c>\nB on\n</IfModule>\n"
        "<IfModule mod_authz_core.c>\nC on\n</IfModule>\n"
    )
    found = lives(fragments(tmp_path, {"x.conf": text}))
    assert (found["a"], found["b"], found["c"]) == ((None, None), (True, False), (False, True))


def test_the_modules_of_both_versions(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path, {"conf/httpd.conf": LOADED + "LoadModule authz_core_module modules/mod_authz_core.so\n"}
    )
    assert found.modules[-3:] == ["ssl_module", "authz_default_module", "php5_module"]
    assert found.modules_24[-3:] == ["ssl_module", "php5_module", "authz_core_module"]


def test_define_is_of_24(tmp_path: Path) -> None:
    assert lives(
        config_tree(tmp_path, {"conf/httpd.conf": "Define X\n<IfDefine X>\nInside on\n</IfDefine>\n"})
    )["inside"] == (None, True)


def test_three_values() -> None:
    assert [maybe_and(None, None), maybe_and(None, True), maybe_and(None, False), maybe_and(True, True)] == [
        None,
        None,
        False,
        True,
    ]
    assert Branches(set(), is_complete=True).taken("<location", "/x") == (True, True)
