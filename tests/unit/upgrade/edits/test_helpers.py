"""Edits that several rules need."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, fragments

from whimbrel.syntax.edits import Group, apply
from whimbrel.upgrade.edits.helpers import (
    insert_above_comment,
    insert_for_server,
    replace_statement,
    source_lines,
)
from whimbrel.upgrade.model import FileEdit, UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import main_statements


def after(found: ConfigTree, *edits: FileEdit) -> str:
    file = next(iter(found.files.values()))
    return apply(file.document.bytes, [Group(tuple(one.edit for one in edits))]).decode("latin-1")


@pytest.mark.parametrize(
    ("also", "lines", "wanted"),
    [
        (False, [], "A x\nB y\n"),
        (False, ["New z"], "A x\nNew z\nB y\n"),
        (True, [], "A x\n<IfModule !mod_authz_core.c>\n    Old w\n</IfModule>\nB y\n"),
        (
            True,
            ["New z"],
            (
                "A x\n<IfModule !mod_authz_core.c>\n    Old w\n</IfModule>\n"
                "<IfModule mod_authz_core.c>\n    New z\n</IfModule>\nB y\n"
            ),
        ),
    ],
)
def test_swap(tmp_path: Path, also: bool, lines: list[str], wanted: str) -> None:
    found = config_tree(
        tmp_path, {"conf/httpd.conf": "A x\nOld w\nB y\n"}, options=UpgradeOptions(also_22=also)
    )
    assert after(found, *replace_statement(found, next(found.named("old")), lines)) == wanted


def test_a_line_of_several_lines_keeps_them(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {"conf/httpd.conf": "  Old \\\n    w\n"})
    assert source_lines(next(found.named("old"))) == ["Old \\", "    w"]


def test_lines_for_the_server_stand_before_its_sections(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {"conf/httpd.conf": "A x\n<IfModule y>\nB\n</IfModule>\n<Directory />\nC\n</Directory>\nD\n"},
    )
    made = insert_for_server(found, ["New"])
    assert made is not None
    assert (
        after(found, made[1]) == "A x\nNew\n<IfModule y>\nB\n</IfModule>\n<Directory />\nC\n</Directory>\nD\n"
    )


def test_a_file_that_begins_with_a_section(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {"conf/httpd.conf": "<Directory />\nC\n</Directory>\n"})
    made = insert_for_server(found, ["New"])
    assert made is not None
    assert after(found, made[1]).startswith("New\n<Directory />\n")


def test_fragments_have_no_server(tmp_path: Path) -> None:
    found = fragments(tmp_path, {"conf/site.conf": "A x\n"})
    assert insert_for_server(found, ["New"]) is None
    assert main_statements(found) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("A\n\n# about old\n# and more\nOld w\n", "A\n\nNEW\n# about old\n# and more\nOld w\n"),
        ("A\n# about a\n\nOld w\n", "A\n# about a\n\nNEW\nOld w\n"),
        ("# the file\nOld w\n", "# the file\nNEW\nOld w\n"),
        ("# whimbrel: ignore[C06]\nOld w\n", "NEW\n# whimbrel: ignore[C06]\nOld w\n"),
        (
            "# the file\n# whimbrel: ignore[C06]\n# reviewed\nOld w\n",
            "# the file\nNEW\n# whimbrel: ignore[C06]\n# reviewed\nOld w\n",
        ),
        ("Old w\n", "NEW\nOld w\n"),
    ],
)
def test_above_a_comment(tmp_path: Path, text: str, wanted: str) -> None:
    found = config_tree(tmp_path, {"conf/httpd.conf": text})
    assert after(found, insert_above_comment(next(found.named("old")), ["NEW"])) == wanted
