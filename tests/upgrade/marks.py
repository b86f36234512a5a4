"""How many sections about access an upgrade marks for review instead of mending them: over recorded
configurations, files and folders.

python -m tests.upgrade.marks [tests/conformance/cases/authz-single.jsonl.xz | DIRECTORY ...] [--every N]
[--show]

Without paths: the packed recordings that `make upgrade-check` upgrades.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tests.conformance.case import Case
from tests.conformance.cases import packed, read_cases
from tests.conformance.upgrade_run import FAMILIES, merged_site
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.effective import CONTROL, flatten_directives, has_directive
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.rules import rules_of
from whimbrel.upgrade.source.reading import Sources, read_config_tree

ABOUT_SECTIONS = {rule.number for rule in rules_of("access")} - {"C46"}
"""Rules whose findings speak of one section or .htaccess file; C46 is about programs and password files."""


def marks(sources: Sources, options: UpgradeOptions | None = None) -> tuple[int, list[Finding]]:
    """The number of sections and files with lines about access, and what is said of those that are marked:
    one finding each."""
    config_tree = read_config_tree(sources, options or UpgradeOptions())
    units = [
        unit
        for unit in analyze_access(config_tree).inventory.sections
        if has_directive(unit.access_lines, CONTROL) and list(flatten_directives(unit.access_lines))
    ]
    about = {unit.file.path for unit in units}
    found = {
        finding.place: finding
        for finding in upgrade(config_tree).findings
        if finding.needs_review and finding.rule in ABOUT_SECTIONS and finding.place.path in about
    }
    return len(units), list(found.values())


def recorded(path: Path, every: int) -> Iterator[tuple[str, str, int, list[Finding]]]:
    """Of each configuration that 2.2 started with: family, name, sections, marks."""
    started = (case for case in read_cases([path], "2.2") if case.kind == "site" and case.answer["started"])
    for case in islice(started, 0, None, every):
        yield (case.family, case.id, *recorded_marks(case))


def recorded_marks(case: Case) -> tuple[int, list[Finding]]:
    """The sections and marks of one recorded configuration."""
    with merged_site(case) as site:
        options = LoadOptions(
            server_root=from_system(site.root), file="conf/httpd.conf", defines=case.defines
        )
        return marks(Sources(options=options))


def alone(folder: Path, every: int) -> Iterator[tuple[str, str, int, list[Finding]]]:
    """The same of every file below a directory, each as a fragment in which no outer section asks for a
    password: without that assumption each list that stays is marked."""
    for path in sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "logs" not in path.parts
    )[::every]:
        yield (
            folder.name,
            str(path.relative_to(folder)),
            *marks(Sources(fragments=(from_system(str(path)),)), UpgradeOptions(no_outer_password=True)),
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "paths",
        nargs="*",
        type=Path,
        help="recordings, or directories of files (default: the packed recordings)",
    )
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument(
        "--jobs", type=int, default=1, help=argparse.SUPPRESS
    )  # `make upgrade-check` passes it to both programs
    parser.add_argument("--show", action="store_true", help="print each mark")
    args, _ = parser.parse_known_args()
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in args.paths or packed(*FAMILIES):
        for family, name, sections, marked in (alone if path.is_dir() else recorded)(path, args.every):
            for family_or_all in (family, "ALL"):
                totals[family_or_all][0] += sections
                totals[family_or_all][1] += len(marked)
            for finding in marked if args.show else ():
                print(
                    f"{name}: {finding.place.line}: {finding.rule}: {finding.message}\n    {finding.evidence}"
                )
    print(f"{'sections about access':34}{'all':>10}{'marked':>10}{'share':>10}")
    for family, (sections, count) in sorted(totals.items(), key=lambda one: (one[0] == "ALL", one[0])):
        print(f"{family:34}{sections:>10}{count:>10}{100 * count / max(1, sections):>9.1f}%")


if __name__ == "__main__":
    main()
