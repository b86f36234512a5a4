"""Index of <Location> sections."""

from __future__ import annotations

import pytest

from whimbrel.base.regex import Regex, compile_regex
from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.engine.plan.locations import Locations


def section(pattern: str, regex: Regex | None = None, *, fnmatch: bool = False) -> Section:
    return Section(SectionKind.LOCATION, pattern, Layer(SectionKind.LOCATION), regex, fnmatch)


def test_literal_locations_are_found_by_the_first_segment() -> None:
    all_of_it, status, info, deep = (
        section("/"),
        section("/status"),
        section("/info/"),
        section("/status/deep"),
    )
    found = Locations([all_of_it, status, info, deep])
    assert found.candidates("/status") == [all_of_it, status, deep]
    assert found.candidates("/status/deep/er") == [all_of_it, status, deep]
    assert found.candidates("/info/x") == [all_of_it, info]
    assert found.candidates("/statusses") == found.candidates("/") == [all_of_it]
    assert found.candidates("*") == [all_of_it, status, info, deep]


@pytest.mark.parametrize(
    "other", [section("/x*", fnmatch=True), section("status"), section("^/a", compile_regex("^/a"))]
)
def test_other_locations_have_to_be_asked_each_time(other: Section) -> None:
    sections = [section("/status"), other]
    assert Locations(sections).candidates("/elsewhere") == sections
