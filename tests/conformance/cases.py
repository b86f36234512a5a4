"""The recordings (packed by tools/pack_cases.py, or other files), and the lists of floors and exemptions."""

from __future__ import annotations

import json
import lzma
import os
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from tests.conformance.case import Case, Record, Version, case_of, has_version
from tests.support.samples import amount

DIRECTORY = Path(__file__).resolve().parent
PACKED = DIRECTORY / "cases"
EXEMPTIONS = DIRECTORY / "EXCEPTIONS.tsv"
FLOORS = DIRECTORY / "FLOORS.tsv"
PACKED_SUFFIX = ".jsonl.xz"
REQUESTS = int(os.environ.get("WHIMBREL_REQUESTS", amount(40, 60)))
"""Requests of a thinned case."""
LONG_CASE = 200
"""Requests of a case that is thinned, at least."""
UNEVEN = ("authz-pw",)
"""Families whose few exceptions are a larger part of a sample than of the whole."""
T = TypeVar("T")


@dataclass(frozen=True)
class Exempt:
    """One exemption: the cases whose whole id matches *pattern* cannot agree, because of *reason*."""

    pattern: str
    reason: str

    def covers(self, case_id: str) -> bool:
        """Return True if the exemption is about the case."""
        return re.fullmatch(self.pattern, case_id) is not None


def packed(*patterns: str) -> list[Path]:
    """The packed recordings whose family matches one of the shell patterns; all of them without patterns."""
    return sorted(path for pattern in patterns or ("*",) for path in PACKED.glob(pattern + PACKED_SUFFIX))


def families() -> list[str]:
    """The packed families: authz-single, core-path ..."""
    return [path.name.removesuffix(PACKED_SUFFIX) for path in packed()]


def read_records(path: Path) -> Iterator[Record]:
    """The cases of a recording, packed (.xz) or plain JSON lines."""
    with (
        lzma.open(path, "rt", encoding="utf-8")
        if path.suffix == ".xz"
        else open(path, encoding="utf-8") as lines
    ):
        for line in lines:
            yield json.loads(line)


def read_cases(paths: Iterable[Path], version: Version, only: str = "") -> Iterator[Case]:
    """The cases with an answer of *version* whose id matches the regular expression *only*."""
    for path in paths:
        for record in read_records(path):
            if has_version(record, version) and re.search(only, record["id"]):
                yield case_of(record, version)


@cache
def load(family: str) -> tuple[Record, ...]:
    """All packed cases of one family, in the order of the recording."""
    return tuple(read_records(PACKED / (family + PACKED_SUFFIX)))


def load_cases(family: str, version: Version) -> list[Case]:
    """The packed cases of one family that have an answer of *version*."""
    return [case_of(record, version) for record in load(family) if has_version(record, version)]


def spread(cases: list[T], count: int) -> list[T]:
    """*count* elements taken evenly from the list."""
    step = max(len(cases) // count, 1)
    return cases[step // 2 :: step][:count]


def thinned(case: Case, count: int = REQUESTS) -> Case:
    """Return a long case of access control with *count* of its requests and no logs, any other one as it is.

    Such a case asks for each of a hundred generated sections, as several users from several addresses. No
    request depends on earlier ones. Each run makes the same choice; `make conformance` sends all.
    """
    responses = case.answer.get("responses", ())
    is_long = len(responses) >= max(LONG_CASE, count)
    if not is_long or not case.family.startswith("authz-") or case.family in UNEVEN:
        return case
    chosen = sorted(random.Random(case.id).sample(range(len(responses)), count))
    answer = {**case.answer, "responses": [responses[at] for at in chosen], "error_log": [], "access_log": []}
    return replace(case, requests=tuple(case.requests[at] for at in chosen), answer=answer)


def rows(path: Path) -> list[str]:
    """The lines of a table that are neither empty nor comments."""
    return [
        line
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]


@cache
def exempt(path: Path = EXEMPTIONS) -> tuple[Exempt, ...]:
    """The lines of a list of exemptions; one without a tab has an empty reason."""
    return tuple(Exempt(*line.partition("\t")[::2]) for line in rows(path))


def covered(entry: Exempt) -> Iterator[Record]:
    """The packed cases that an exemption is about."""
    return (record for family in families() for record in load(family) if entry.covers(record["id"]))


def one_version_each() -> list[tuple[str, str]]:
    """The families that have a floor, each with one of its versions: every second one with 2.2."""
    versions: dict[str, list[str]] = {}
    for family, version in sorted(floors()):
        versions.setdefault(family, []).append(version)
    return [(family, found[number % len(found)]) for number, (family, found) in enumerate(versions.items())]


def floors() -> dict[tuple[str, str], float]:
    """FLOORS.tsv: (family, version) -> the percentage of answers that must agree fully."""
    lines = [line.split("\t") for line in rows(FLOORS)]
    return {(family, version): float(percent) for family, version, percent in lines}
