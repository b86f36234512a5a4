"""Former names of mod_fcgid's directives: each one is replaced by a directive that mod_fcgid has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.modules import ALL
from whimbrel.upgrade.rules.modules.r11_fcgid_names import NAMES, check

LOAD = "LoadModule fcgid_module modules/mod_fcgid.so\n"
TESTED = "<IfModule {}>\n{} x\n</IfModule>\n"


def directives() -> set[str]:
    """Return the directives of mod_fcgid."""
    module = ALL["mod_fcgid"]
    return {*module.server_setters, *module.dir_setters}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_former_name(tmp_path: Path, name: str) -> None:
    new = NAMES[name]
    assert new in directives()
    assert new.lower() != name
    (finding,) = check(config_tree(tmp_path, {"conf/httpd.conf": f"{LOAD}{name} x\n"}))
    assert (finding.rule, finding.place.line, finding.advice) == ("R11", 2, f"write {new}")
    (edit,) = finding.edits
    assert edit.edit.text.decode() == new


@pytest.mark.parametrize(("module", "count"), [("mod_fcgid.c", 1), ("fcgid_module", 1), ("mod_other.c", 0)])
def test_a_name_counts_where_the_module_is_tested(tmp_path: Path, module: str, count: int) -> None:
    text = TESTED.format(module, "IPCCommTimeout")
    assert len(list(check(config_tree(tmp_path, {"conf/httpd.conf": text})))) == count


def test_names_of_mod_fastcgi_are_its_own(tmp_path: Path) -> None:
    text = "LoadModule fastcgi_module modules/mod_fastcgi.so\nFastCgiAccessChecker x\n"
    assert list(check(config_tree(tmp_path, {"conf/httpd.conf": text}))) == []
