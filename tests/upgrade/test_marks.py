"""At most one section in twenty is marked for review: over the recorded configurations about access, and over
whole configurations; of single files one in eight.

WHIMBREL_CASES=N takes N configurations of each family instead of one; `make upgrade-check` counts all.
"""

from __future__ import annotations

from pathlib import Path

from tests.conformance.cases import packed, spread
from tests.corpus.configurations import CONFIGURATIONS, LARGER_SET
from tests.upgrade.marks import alone, marks, recorded, recorded_marks
from tests.upgrade.upgradable import CASES, upgradable
from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.access_control.findings import IF_EVER
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources

FAMILIES = (
    "authz-single",
    "authz-nested",
    "authz-targeted",
    "authz-passwords",
    "authz-authoritative",
    "authz-extra",
)
MOST = 1 / 20
MOST_WITH_FUTURE = 1 / 10
"""With sections that 2.4 would open for files that are not there: packs have thirty servers in one."""
MOST_ALONE = 1 / 8
"""Of files without their server: one that mixes lines of both versions is marked in each section, since the
file alone does not tell which of them are meant; Require user beside Require group, since it does not tell
which module 2.2 asks first."""


def test_sections_and_marks_are_counted(tmp_path: Path) -> None:
    conf = tmp_path / "httpd.conf"
    conf.write_text(
        "<Location /a>\nOrder allow,deny\nAllow from all\n</Location>\n<Location /b>\n"
        "Options None\n</Location>\n"
        "<Location /c>\nAuthType Basic\nAuthName x\nAuthUserFile u\n"
        "AuthzSVNAccessFile a\nSatisfy Any\nRequire valid-user\n</Location>\n"
    )
    sections, marked = marks(
        Sources(fragments=(from_system(str(conf)),)), UpgradeOptions(no_outer_password=True)
    )
    assert sections == 2
    assert [finding.place.line for finding in marked] == [8]


def test_recorded_configurations() -> None:
    cases = [case for family in FAMILIES for case in spread(upgradable(family), CASES)]
    counted = [(case.id, *recorded_marks(case)) for case in cases]
    of_files = [(name, count, list(filter(_is_of_files, found))) for name, count, found in counted]
    check_share(of_files, len(cases))
    check_share(counted, len(cases), MOST_WITH_FUTURE)


def _is_of_files(finding: Finding) -> bool:
    """Return True unless the finding is about requests for files that are not there."""
    return not finding.evidence.startswith(IF_EVER)


def test_marks_of_a_packed_family_are_counted() -> None:
    (path,) = packed("authz-extra")
    counted = list(recorded(path, 40))
    assert counted
    assert {family for family, *_ in counted} <= {"authz-mods", "authz-wild", "authz-extra"}


def test_files() -> None:
    """The configurations of the repository; and every fourth file of a larger set, where one is present."""
    own = [one[1:] for one in alone(CONFIGURATIONS, 1)]
    check_share(
        [one for one in own if "broken" not in one[0]], 10, MOST_ALONE
    )  # a damaged file is always left and marked
    if LARGER_SET.is_dir():
        check_share([one[1:] for one in alone(LARGER_SET / "files", 4)], 50, MOST_ALONE)


def check_share(counted: list[tuple[str, int, list[Finding]]], least: int, most: float = MOST) -> None:
    """Fail if more than *most* of the sections are marked, or not more than *least* sections are counted."""
    sections, marked = sum(count for _, count, _ in counted), sum(len(found) for *_, found in counted)
    assert sections > least
    assert marked <= sections * most, [
        (name, str(finding.place.line), finding.message) for name, _, found in counted for finding in found
    ]
