"""Items about lines that were left out: what follows for answers, and for a start here.

apache2 2.4.71 with ErrorLog in a directory that is missing: "AH02291: Cannot access directory", exit code 1.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.base.errors import ForeignDirective, MissingResource, ProgramNotRun, SourceLocation
from whimbrel.config.skipped_branches import SkippedBranch
from whimbrel.upgrade.knowledge.loaded import item_of, skipped_items
from whimbrel.upgrade.knowledge.scope import UnknownKind


@pytest.mark.parametrize(
    ("problem", "matters", "consequence"),
    [
        (
            MissingResource("AH02291: Cannot access directory '/x/logs/' for main error log"),
            False,
            "no answer depends on it, but no server starts here without it",
        ),
        (MissingResource("Include directory not found", matters=True), True, ""),
        (ForeignDirective("WSGIDaemonProcess"), True, "its effect is not decided"),
        (ProgramNotRun("exec:/bin/date"), True, "what it would print is not decided"),
    ],
)
def test_consequences(problem: MissingResource, matters: bool, consequence: str) -> None:
    item = item_of(problem)
    assert (item.matters, item.consequence) == (matters, consequence)


def branch(condition: str, line: int, *hosts: str, files: tuple[str, ...] = ()) -> SkippedBranch:
    return SkippedBranch(SourceLocation("/x.conf", line), condition, hosts, files)


def test_each_condition_that_is_not_true_is_named_once() -> None:
    found = list(
        skipped_items(
            [
                branch("<IfDefine SSL>", 1),
                branch("<IfDefine SSL>", 9, "a.example", files=("vhosts.d/b.conf",)),
                branch("<IfDefine !TEST>", 20),
                branch("<IfModule mod_perl.c>", 30),
                branch("<IfModule mod_none.c>", 40, files=("none.conf",)),
            ]
        )
    )
    assert [(item.place and item.place.line, item.subject, item.advice) for item in found] == [
        (
            9,
            "<IfDefine SSL> is not true here: virtual host a.example, vhosts.d/b.conf, 2 sections in all",
            "add -D SSL",
        ),
        (20, "<IfDefine !TEST> is not true here", "leave out -D TEST"),
        (40, "<IfModule mod_none.c> is not true here: none.conf", ""),
    ]
    assert not any(item.matters for item in found)  # no answer of this server depends on them


def test_a_name_that_a_line_sets_or_removes(tmp_path: Path) -> None:
    """apache2 skips these with and without -D: `-t -D DUMP_RUN_CFG` shows no name defined within them."""
    text = "Define A\nUnDefine B\n<IfDefine !A>\nDefine X\n</IfDefine>\n<IfDefine B>\nDefine Y\n</IfDefine>\n"
    for names in ((), ("A", "B")):
        configuration = Site(tmp_path, text).load(defines=names)
        assert not {"X", "Y"} & configuration.defines.keys()
        assert [item.advice for item in skipped_items(configuration.skipped)] == [
            "a Define line sets A",
            "an UnDefine line removes B",
        ]


def test_branches_of_a_tree_that_neither_version_reads(tmp_path: Path) -> None:
    """-D names are open in a check, which reads what they decide about; <IfVersion> is of one version."""
    text = (
        "LoadModule alias_module modules/mod_alias.so\n<IfDefine SSL>\nInclude conf/a.conf\n</IfDefine>\n"
        "<IfVersion >= 2.4>\nInclude conf/b.conf\n</IfVersion>\n"
        "<IfModule mod_perl.c>\n<VirtualHost *:80>\nServerName p.example\n</VirtualHost>\n</IfModule>\n"
    )
    files: dict[str, str | bytes] = {"conf/httpd.conf": text, "conf/a.conf": "", "conf/b.conf": ""}
    items = config_tree(tmp_path, files).scope().items
    assert [item.subject for item in items if item.kind is UnknownKind.NOT_READ] == [
        "<IfModule mod_perl.c> is not true here: virtual host p.example"
    ]
