"""docs/differences.md lists what the tests except, with their reasons: no more and no less."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.conformance.cases import EXEMPTIONS, exempt
from tests.meta.tree import ROOT
from whimbrel.catalogue.load import VERSIONS
from whimbrel.cli.directives import missing

DOCUMENT: Final = ROOT / "docs/differences.md"
RANDOM: Final = ROOT / "tests/differential/DIFFERENCES.tsv"
UPGRADES: Final = ROOT / "tests/upgrade/EXCEPT.tsv"
EFFECTS: Final = ROOT / "tests/meta/without_effect.tsv"


def reasons(path: Path) -> list[str]:
    """Return the reasons of a list of exceptions, each once."""
    return list(dict.fromkeys(entry.reason for entry in exempt(path)))


def without_behaviour() -> Iterator[str]:
    """Yield a row for each directive that stops a start."""
    absent = {version: {(one.module, one.directive) for one in missing(version)} for version in VERSIONS}
    for module, name in sorted(set().union(*absent.values())):
        versions = [version for version in VERSIONS if (module, name) in absent[version]]
        yield f"{module.removesuffix('.c')} | `{name}` | {', '.join(versions)}"


def without_effect() -> Iterator[str]:
    """Yield a row for each directive without effect."""
    for line in EFFECTS.read_text(encoding="utf-8").splitlines()[1:]:
        module, name, reason = line.split("\t")
        yield f"{module.removesuffix('.c')} | `{name}` | {reason}"


def rows(title: str) -> list[str]:
    """Return the rows of the table below a heading, without the outer bars."""
    part = DOCUMENT.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [line[2:-2] for line in part.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Directives that stop a start", list(without_behaviour())),
        ("Directives without effect", list(without_effect())),
        ("Answers", reasons(RANDOM)),
        ("Recorded answers that cannot agree", reasons(EXEMPTIONS)),
        ("Answers of 2.2 that no text of 2.4 gives", reasons(UPGRADES)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_table_has_the_rows_of_its_list(title: str, expected: list[str]) -> None:
    assert expected
    table = "\n".join(f"| {row} |" for row in expected)
    assert rows(title) == expected, f"the table of {title!r} should be:\n{table}"
