"""What a plan compiles: phases that have an answer of their own, hooks by handler, sections by the beginning of a path."""

from __future__ import annotations

import pytest

from whimbrel.config.model import Layer, Section, SectionKind
from whimbrel.regex import Regex, compile_regex
from whimbrel.registry.module import Made, Reads
from whimbrel.registry.phases import DECLINED, OK, Answer, Run
from whimbrel.request.plan import Locations, Ready


def hook(answer: Answer) -> Made:
    return Made(lambda r: answer, Reads.NOTHING, answer=answer)


ASKED = Made(lambda r: DECLINED, Reads.NOTHING)


@pytest.mark.parametrize(("made", "run", "answer"), [
    ([], Run.FIRST, DECLINED),
    ([], Run.ALL, OK),
    ([], Run.VOID, OK),
    ([hook(DECLINED), hook(OK), hook(403)], Run.FIRST, OK),
    ([hook(DECLINED), hook(OK), hook(403)], Run.ALL, 403),
    ([hook(DECLINED), hook(OK), hook(403)], Run.VOID, OK),
    ([hook(OK), ASKED], Run.FIRST, OK),
    ([hook(OK), ASKED], Run.ALL, None),
    ([ASKED, hook(OK)], Run.FIRST, None),
    ([Made(lambda r: OK, Reads.OUTSIDE, answer=OK)], Run.FIRST, None),
    ([Made(lambda r: OK, Reads.CLIENT, answer=OK)], Run.FIRST, None),
])
def test_a_phase_whose_hooks_always_say_the_same_has_an_answer(made: list[Made], run: Run, answer: Answer | None) -> None:
    assert Ready(made, run).answer == answer


def test_hooks_for_other_methods_and_handlers_are_left_out() -> None:
    get, options, cgi = Made(lambda r: OK), Made(lambda r: OK, methods=1 << 6), Made(lambda r: OK, handlers=frozenset(("cgi-script",)))
    ready = Ready([get, options, cgi], Run.FIRST)
    assert ready.usual == ((get.fn, False), (cgi.fn, False))
    assert ready.hooks == ((get.fn, False), (options.fn, False), (cgi.fn, False))
    assert ready.named("cgi-script") == ready.hooks
    assert ready.named("server-status") == ((get.fn, False), (options.fn, False))
    assert ready.for_type("text/html; charset=x") == ("text/html", ready.named("text/html"))
    assert ready.for_type(None)[0] == "default-handler"


def section(pattern: str, regex: Regex | None = None, *, fnmatch: bool = False) -> Section:
    return Section(SectionKind.LOCATION, pattern, Layer(SectionKind.LOCATION), regex, fnmatch)


@pytest.mark.parametrize(("made", "idle"), [
    ([Made(lambda r: OK, needs_file=True)] * 2, True),
    ([Made(lambda r: OK, needs_file=True), Made(lambda r: OK)], False),
    ([Made(lambda r: OK, Reads.OUTSIDE, needs_file=True)], False),
    ([Made(lambda r: OK, Reads.CLIENT, needs_file=True)], False),
])
def test_a_phase_is_idle_without_a_file_where_all_its_hooks_need_one(made: list[Made], idle: bool) -> None:
    assert Ready(made, Run.ALL).idle is idle


def test_a_phase_waits_where_one_of_its_hooks_may() -> None:
    assert [Ready([Made(lambda r: OK), Made(lambda r: OK, waits=waits)], Run.ALL).waits for waits in (True, False)] == [True, False]


def test_literal_locations_are_found_by_the_first_segment() -> None:
    all_of_it, status, info, deep = section("/"), section("/status"), section("/info/"), section("/status/deep")
    found = Locations([all_of_it, status, info, deep])
    assert found.about("/status") == [all_of_it, status, deep]
    assert found.about("/status/deep/er") == [all_of_it, status, deep]
    assert found.about("/info/x") == [all_of_it, info]
    assert found.about("/statusses") == found.about("/") == [all_of_it]
    assert found.about("*") == [all_of_it, status, info, deep]


@pytest.mark.parametrize("other", [section("/x*", fnmatch=True), section("status"), section("^/a", compile_regex("^/a"))])
def test_other_locations_have_to_be_asked_each_time(other: Section) -> None:
    sections = [section("/status"), other]
    assert Locations(sections).about("/elsewhere") == sections
