"""Queries of a configuration tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.source.queries import is_24_config, is_in_main_server, top_level

NEW = "LoadModule authz_core_module modules/mod_authz_core.so\n"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (NEW, True),
        ("LoadModule alias_module modules/mod_alias.so\n", False),
        ("", False),
        ("LoadModule php5_module modules/libphp5.so\n", False),
        (f"<IfVersion >= 2.4>\n{NEW}</IfVersion>\n", True),
        (f"<IfVersion < 2.4>\n{NEW}</IfVersion>\n", False),
    ],
)
def test_what_loads_new_modules_is_new(tmp_path: Path, text: str, wanted: bool) -> None:
    assert is_24_config(config_tree(tmp_path, {"conf/httpd.conf": text})) is wanted


def test_the_level_of_the_server(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            "conf/httpd.conf": (
                "A x\n<IfModule y>\nB\n</IfModule>\n<VirtualHost *>\nC\n</VirtualHost>\nInclude conf/more\n"
            ),
            "conf/more": "D\n",
        },
    )
    assert {name: is_in_main_server(next(found.named(name, include_inactive=True))) for name in "abcd"} == {
        "a": True,
        "b": True,
        "c": False,
        "d": True,
    }
    assert [statement.name for statement in top_level(found)] == [
        "a",
        "<ifmodule",
        "<virtualhost",
        "include",
        "d",
    ]
