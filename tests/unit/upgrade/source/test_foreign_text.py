"""Texts that are no configuration are reported and never edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import fragments, reasons

from whimbrel.syntax.tree import parse
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.source.foreign_text import is_foreign
from whimbrel.upgrade.source.text_faults import text_faults

PROGRAM = "<?php\nfunction f($x) { return $x; }\necho f(1);\n?>\n"
PROSE = (
    "This host was moved.\nAsk the admins before you change it.\n"
    "Order new disks when it is full.\n\nThanks, and so long.\nPS: see below\nend\n"
)
SHELL = "#!/bin/sh\nset -e\ncase $1 in\nstart) apachectl start;;\nesac\n"
LIST = "10.0.0.1\n10.0.0.2\n"


@pytest.mark.parametrize("text", [PROGRAM, PROSE, SHELL, LIST, "../sites-available/default\n"])
def test_no_configuration(text: str, tmp_path: Path) -> None:
    found = fragments(tmp_path, {"x.conf": text})
    assert reasons(found)[0].startswith("this text is no configuration")
    assert not list(found.all_statements())
    assert not upgrade(found).files


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing\n",
        "SecRule A b\nSecAction c\n",
        "php_value a b\n",
        "<IfModule x.c>\n</IfModule>\n",
        "WSGIScriptAlias / /x\n",
        "Order allow,deny\n",
        "Foo 1\nBar 2\nBaz 3\nListen 80\n",
    ],
)
def test_a_configuration(text: str) -> None:
    assert not is_foreign(parse(text.encode()))


@pytest.mark.parametrize(
    ("data", "is_link"),
    [
        (b"../mods-available/alias.load", True),
        (b"../../a/b.conf\r\n", True),
        (b"../a b", False),
        (b"Include ../a\n", False),
        (b"/etc/httpd/a.conf\n", False),
    ],
)
def test_the_target_of_a_link_that_was_copied_as_text(data: bytes, is_link: bool) -> None:
    faults = text_faults(data)
    assert any("symbolic link" in fault.reason for fault in faults) is is_link
