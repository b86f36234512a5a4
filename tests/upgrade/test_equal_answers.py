"""Recorded 2.2 configurations, upgraded in place and asked of a real httpd 2.4: the answers are those of 2.2.

WHIMBREL_CASES=N takes N configurations of each family and N entries of EXCEPT.tsv instead of two; `make upgrade-check` takes all.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.cases import Case, families, load, spread

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("WHIMBREL_SHARED") or HERE.parents[2] / "shared")
RUN = SHARED / "conformance" / "upgrade_run.py"
CASES = int(os.environ.get("WHIMBREL_CASES", "2"))
FLOORS = {
    "authz-single": 99.5, "authz-nested": 97.0, "authz-targeted": 99.5, "authz-passwords": 99.5, "authz-authoritative": 99.5,
    "config-htaccess": 99.0, "config-vhost": 99.0, "core-rewrite": 99.0,
}
"""Percentages of equal answers.  A few configurations of authz-nested hold all that changes there, so that a sample may have more than its share."""
ENTRIES = [
    line.partition("\t")[::2] for line in (HERE / "EXCEPT.tsv").read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")
]

needs_apache = pytest.mark.skipif(
    not RUN.is_file() or not Path("/usr/sbin/apache2").exists(), reason=f"needs apache2 and {RUN.parent.name}/{RUN.name} (set WHIMBREL_SHARED)")


def asked(case: Case) -> bool:
    """Whether the run takes the case at all."""
    answers = case["answers"].get("2.2")
    return bool(case.get("kind", "site") == "site" and answers and answers["started"] and case.get("preamble", True) and not case.get("strict"))


def exempt(case: Case) -> bool:
    return any(re.fullmatch(pattern, case["id"]) for pattern, _ in ENTRIES)


def run(cases: list[Case], folder: Path, *more: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, object]]]:
    """What the run says about *cases*, and its details: a line for each case that isn't the same."""
    texts, details = folder / "cases.jsonl", folder / "details.jsonl"
    texts.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    program = Path(sys.executable).with_name("whimbrel")
    command = [sys.executable, str(RUN), "--upgrade", f"{program} upgrade --write", "--details", str(details), *more, str(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done, [json.loads(line) for line in details.read_text(encoding="utf-8").splitlines()] if details.is_file() else []


@needs_apache
@pytest.mark.parametrize("family", sorted(FLOORS))
def test_answers_are_equal(family: str, tmp_path: Path) -> None:
    cases = spread([case for case in load(family) if asked(case) and not exempt(case)], CASES)
    done, details = run(cases, tmp_path, "--floor", str(FLOORS[family]))
    short = [{key: one.get(key) for key in ("id", "verdict", "differences", "why")} for one in details]
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{json.dumps(short)}"


def covered(pattern: str) -> list[Case]:
    """The cases that an entry is about."""
    return [case for family in families() for case in load(family) if asked(case) and re.fullmatch(pattern, case["id"])]


def test_every_entry_has_a_reason_and_a_case() -> None:
    assert [pattern for pattern, reason in ENTRIES if not reason or not covered(pattern)] == []


@needs_apache
@pytest.mark.parametrize("at", range(0, len(ENTRIES), max(len(ENTRIES) // CASES, 1)), ids=lambda at: ENTRIES[at][0])
def test_an_entry_is_needed(at: int, tmp_path: Path) -> None:
    pattern = ENTRIES[at][0]
    cases = spread(covered(pattern), CASES)
    _, details = run(cases, tmp_path)
    assert sorted(case["id"] for case in cases) == sorted(str(one["id"]) for one in details)
