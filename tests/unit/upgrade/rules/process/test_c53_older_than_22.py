"""Names of 1.3 and 2.0: neither version has them, their successors are of 2.2, and each one is a finding."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.catalogue import load
from whimbrel.catalogue.load import catalogue
from whimbrel.upgrade.model import Risk
from whimbrel.upgrade.rules.process.c53_older_than_22 import DIRECTIVES, MODULES, check

REVIVED = {"port", "ssllog", "sslloglevel"}
"""Of other modules than those of httpd, or of 2.4 again, in the catalogues."""
DIRECTIVES_2_2 = {row.name.lower() for row in catalogue("2.2")}
MODULES_2_2 = {line.split("\t")[1] for line in load._lines("modules.tsv") if line.startswith("2.2\t")}


@pytest.mark.parametrize("name", sorted(DIRECTIVES))
def test_a_directive(tmp_path: Path, name: str) -> None:
    assert name in REVIVED or not catalogue("2.4").find(name)
    (finding,) = check(config_tree(tmp_path, {"conf/httpd.conf": f"{name} x\n"}))
    assert (finding.rule, finding.risk, finding.place.line) == ("C53", Risk.BREAKS, 1)
    assert name in finding.message.lower()
    assert finding.advice == "upgrade from 2.0 to 2.2 first" + (
        f": {new}" if (new := DIRECTIVES[name]) else ""
    )


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module(tmp_path: Path, name: str) -> None:
    assert name not in MODULES_2_2
    line = f"LoadModule {name} modules/x.so\n"
    (finding,) = check(config_tree(tmp_path, {"conf/httpd.conf": line}))
    assert (finding.rule, finding.risk, finding.place.line) == ("C53", Risk.BREAKS, 1)
    assert set(re.findall(r"\w+_module", finding.advice)) <= MODULES_2_2
    assert finding.message.startswith(name)


def test_successors_are_directives_of_2_2() -> None:
    words = {word.lower() for new in DIRECTIVES.values() for word in re.findall(r"[A-Z]\w+", new)}
    assert words <= DIRECTIVES_2_2


def test_what_2_2_has_is_no_finding(tmp_path: Path) -> None:
    text = "Listen 80\nLoadModule auth_basic_module modules/mod_auth_basic.so\n"
    assert list(check(config_tree(tmp_path, {"conf/httpd.conf": text}))) == []
