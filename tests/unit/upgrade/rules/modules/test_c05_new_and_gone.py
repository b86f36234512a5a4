"""What 2.2 has and 2.4 lacks, by the catalogues of both versions: each module and directive is a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.catalogue import load
from whimbrel.catalogue.load import catalogue
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import check, parse_selection
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rules.modules.c05_new_and_gone import GONE
from whimbrel.upgrade.source.reading import Sources

ARGUMENTS = {
    "acceptmutex": "flock",
    "authdigestnonceformat": "x",
    "cookielog": "logs/c",
    "dumpiologlevel": "debug",
    "example": "",
    "lockfile": "logs/lock",
    "mcacheremovalalgorithm": "LRU",
    "rewritelock": "logs/rw",
    "rewritelog": "logs/rw",
    "rewriteloglevel": "3",
    "sslmutex": "file:logs/ssl",
    **dict.fromkeys(("mcachemaxobjectcount", "mcachemaxobjectsize", "mcachemaxstreamingbuffer"), "100"),
    **dict.fromkeys(("mcacheminobjectsize", "mcachesize"), "100"),
}
"""Arguments of directives that are no flags."""


def modules(version: str) -> set[str]:
    rows = [line.split("\t") for line in load._lines("modules.tsv")]
    return {row[1] for row in rows if row[0] == version}


def gone_directives() -> list[str]:
    new = {row.name.lower() for row in catalogue("2.4")}
    return sorted(row.name for row in catalogue("2.2") if row.name.lower() not in new)


def breaking(root: Path, text: str) -> list[Finding]:
    """Return the findings about the first line of a configuration with which 2.4 does not start."""
    (root / "httpd.conf").write_text(f"{text}\n")
    options = LoadOptions(server_root=str(root), file="httpd.conf")
    found = check(Sources(options=options), parse_selection("", "")).findings
    return [one for one in found if one.place.line == 1 and one.risk is Risk.BREAKS]


@pytest.mark.parametrize("name", sorted(modules("2.2") - modules("2.4")))
def test_a_module_that_2_4_lacks(tmp_path: Path, name: str) -> None:
    findings = breaking(tmp_path, f"LoadModule {name} modules/mod_{name.removesuffix('_module')}.so")
    rule = "C02" if name == "disk_cache_module" else "C05"
    (finding,) = [one for one in findings if f"mod_{name.removesuffix('_module')} " in one.message]
    assert (finding.rule, bool(finding.edits)) == (rule, True)


@pytest.mark.parametrize("name", gone_directives())
def test_a_directive_that_2_4_lacks(tmp_path: Path, name: str) -> None:
    findings = breaking(tmp_path, f"{name} {ARGUMENTS.get(name.lower(), 'off')}")
    assert findings, name
    assert any(name.lower() in one.message.lower() for one in findings)


def test_each_entry_is_such_a_module() -> None:
    assert GONE.keys() == modules("2.2") - modules("2.4") - {"disk_cache_module"}
