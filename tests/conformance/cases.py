"""The recorded cases that the repository carries (packed by tools/pack_cases.py), and the list of those that can't be met."""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
Case = dict[str, Any]


@dataclass(frozen=True)
class Exempt:
    """One line of EXCEPTIONS.tsv: the cases whose whole id matches *pattern* can't be met, because of *reason*."""

    pattern: str
    reason: str

    def covers(self, case: Case) -> bool:
        return re.fullmatch(self.pattern, case["id"]) is not None


def families() -> list[str]:
    """The families that are here: authz-single, core-path ..."""
    return sorted(path.name.removesuffix(".jsonl.xz") for path in (HERE / "cases").glob("*.jsonl.xz"))


@cache
def load(family: str) -> tuple[Case, ...]:
    """All cases of one family, in the order of the recording."""
    with lzma.open(HERE / "cases" / f"{family}.jsonl.xz", "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def spread(cases: list[Case], count: int) -> list[Case]:
    """*count* cases taken evenly from the whole list."""
    step = max(len(cases) // count, 1)
    return cases[step // 2 :: step][:count]


def exempt() -> list[Exempt]:
    """The lines of EXCEPTIONS.tsv; one without a tab has an empty reason."""
    lines = (HERE / "EXCEPTIONS.tsv").read_text(encoding="utf-8").splitlines()
    return [Exempt(*line.partition("\t")[::2]) for line in lines if line.strip() and not line.startswith("#")]


def covered(entry: Exempt) -> Iterator[Case]:
    """The cases that an exemption is about."""
    return (case for family in families() for case in load(family) if entry.covers(case))


def floors() -> dict[tuple[str, str], float]:
    """FLOORS.tsv: (family, version) -> the percentage of answers that must agree fully."""
    lines = (HERE / "FLOORS.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line.strip() and not line.startswith("#")]
    return {(family, version): float(percent) for family, version, percent in rows}
