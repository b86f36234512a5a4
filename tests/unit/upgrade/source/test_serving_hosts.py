"""Which servers map URLs to a directory: sections inside a virtual host count for its directories alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.rules import rules_of
from whimbrel.upgrade.source.config_tree import Role
from whimbrel.upgrade.source.serving_hosts import serving_hosts

HOST = "<VirtualHost *:80>\nDocumentRoot ROOT/a\n{}</VirtualHost>\n"
OTHER = "<VirtualHost *:81>\nDocumentRoot ROOT/b\n</VirtualHost>\n"
NONE = "<Directory ROOT/a>\nOptions Indexes\nAllowOverride None\n</Directory>\n"
ACCESS = "Order deny,allow\nDeny from all\n"


def servers(tmp_path: Path, text: str, directory: str) -> list[bool]:
    """Whether the main server, and each host, may serve *directory*."""
    tree = config_tree(tmp_path, {"conf/httpd.conf": text.replace("ROOT/", f"{tmp_path}/").encode()})
    hosts = list(tree.named("<virtualhost"))
    found = serving_hosts(tree)
    return [found.is_served_by(server, f"{tmp_path}/{directory}", hosts) for server in (None, *hosts)]


@pytest.mark.parametrize(
    ("main", "inside", "expected"),
    [
        ("", "", [False, True, False]),
        ("DocumentRoot ROOT/b\n", "", [False, True, False]),
        ("DocumentRoot ROOT/a\n", "", [True, True, False]),
        ("Alias /x ROOT/a\n", "", [True, True, True]),
        ("ScriptAliasMatch ^/c/(.*) ROOT/a/$1\n", "", [True, True, True]),
        ("AliasMatch ^/(.*) $1\n", "", [True, True, True]),
        ("UserDir a\n", "", [True, True, True]),
        ("UserDir disable\n", "", [False, True, False]),
        # manual, RewriteEngine: rules of the main server are not inherited by virtual hosts
        ("RewriteRule ^/y/(.*) ROOT/a/$1\n", "", [True, True, False]),
        ("RewriteOptions InheritDown\nRewriteRule ^/y/(.*) ROOT/a/$1\n", "", [True, True, True]),
        ("RewriteRule ^/y /index.php\n", "", [False, True, False]),
        ("RewriteRule ^/y %{DOCUMENT_ROOT}/y\n", "", [False, True, False]),
        ("", "Alias /x ROOT/x\n", [False, True, False]),
    ],
)
def test_servers_of_a_directory(main: str, inside: str, expected: list[bool], tmp_path: Path) -> None:
    assert servers(tmp_path, f"{main}{HOST.format(inside)}{OTHER}", "a/deep") == expected


def test_a_directory_that_no_line_names_may_be_served_by_all(tmp_path: Path) -> None:
    assert servers(tmp_path, HOST.format("") + OTHER, "c") == [True, True, True]


def test_hosts_without_a_root_have_that_of_the_main_server(tmp_path: Path) -> None:
    text = "DocumentRoot ROOT/m\n<VirtualHost *:80>\nServerName x\n</VirtualHost>\n"
    assert servers(tmp_path, text + OTHER, "m") == [True, True, False]


def test_a_host_that_inherits_the_rules_of_the_main_server(tmp_path: Path) -> None:
    text = "RewriteRule ^/y/(.*) ROOT/a/$1\n<VirtualHost *:80>\nDocumentRoot ROOT/b\n{}</VirtualHost>\n"
    assert servers(tmp_path, text.format("RewriteOptions inherit\n"), "a") == [True, True]
    assert servers(tmp_path, text.format(""), "a") == [True, False]


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ("VirtualDocumentRoot ROOT/v/%1\n", False),
        ("VirtualDocumentRoot none\n", True),
        ("VirtualDocumentRoot None\n", True),
        ("VirtualDocumentRoot ROOT/v/%1\nAlias /x ROOT/m/x\n", True),
        # mod_rewrite.c, hook_uri2file: a path that is no file is appended to the DocumentRoot
        ("VirtualDocumentRoot ROOT/v/%1\nRewriteRule ^/y /x/y\n", True),
    ],
)
def test_a_host_of_mod_vhost_alias(inside: str, expected: bool, tmp_path: Path) -> None:
    """mod_vhost_alias.c: it maps URLs before the core does, so that DocumentRoot maps none.

    It compares "none" without case: apache2 sends the file of DocumentRoot after `VirtualDocumentRoot None`.
    """
    text = f"DocumentRoot ROOT/m\n<VirtualHost *:80>\n{inside}</VirtualHost>\n"
    assert servers(tmp_path, text, "m/x") == [True, expected]
    if "none" not in inside.lower():
        assert servers(tmp_path, text, "v/a")[1]


def test_directories_above_are_of_all_servers_below_them(tmp_path: Path) -> None:
    assert servers(tmp_path, HOST.format("") + OTHER, "") == [True, True, True]


@pytest.mark.parametrize(
    ("sections", "is_read", "rules"),
    [
        # apache2 reads the file of a host by the sections of that host: AllowOverride None, the line below is
        # never parsed
        (HOST.format(NONE), False, set()),
        (HOST.format(NONE.replace("None", "All")), True, set()),
        # another host serves the directory without any AllowOverride and any Options
        (HOST.format(NONE) + OTHER.replace("/b", "/a"), True, {"C09", "X02"}),
        (HOST.format("Options Indexes\n"), True, {"C09"}),
        (HOST.format(""), True, {"C09", "X02"}),
    ],
)
def test_sections_of_a_host_count_for_its_directories(
    sections: str, is_read: bool, rules: set[str], tmp_path: Path
) -> None:
    tree = config_tree(
        tmp_path,
        {"conf/httpd.conf": f"Listen 80\nFileETag All\n{sections}", "a/.htaccess": ACCESS, "b/x": ""},
    )
    files = [path for path, file in tree.files.items() if file.role is Role.HTACCESS]
    assert files == [f"{tmp_path}/a/.htaccess"] * is_read
    result = upgrade(tree, (*rules_of("access"), *rules_of("core")))
    found = {finding.rule for finding in result.findings}
    assert found & {"C09", "X02", "X22", "LOAD"} == rules
