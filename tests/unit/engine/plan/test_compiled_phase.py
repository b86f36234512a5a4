"""Compiled phases: constant results, and hooks by method and handler."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.engine.plan.compiled_phase import CompiledPhase
from whimbrel.registry.module import CompiledHook, Reads
from whimbrel.registry.phases import DECLINED, OK, HookStatus, RunMode
from whimbrel.testing.fake_runtime import run_sync


def hook(answer: HookStatus) -> CompiledHook:
    return CompiledHook(lambda r: answer, Reads.NOTHING, constant=answer)


def compiled(hooks: list[CompiledHook], mode: RunMode) -> CompiledPhase:
    return CompiledPhase(lambda: hooks, mode).compiled()


def request() -> Any:
    return SimpleNamespace(
        method_number=0,
        finfo=None,
        handler=None,
        content_encodings=[],
        connection=SimpleNamespace(notes={}),
        deps=SimpleNamespace(is_uncacheable=False, on_client=False),
    )


ASKED = CompiledHook(lambda r: DECLINED, Reads.NOTHING)


@pytest.mark.parametrize(
    ("made", "run", "answer"),
    [
        ([], RunMode.RUN_FIRST, DECLINED),
        ([], RunMode.RUN_ALL, OK),
        ([], RunMode.VOID, OK),
        ([hook(DECLINED), hook(OK), hook(403)], RunMode.RUN_FIRST, OK),
        ([hook(DECLINED), hook(OK), hook(403)], RunMode.RUN_ALL, 403),
        ([hook(DECLINED), hook(OK), hook(403)], RunMode.VOID, OK),
        ([hook(OK), ASKED], RunMode.RUN_FIRST, OK),
        ([hook(OK), ASKED], RunMode.RUN_ALL, None),
        ([ASKED, hook(OK)], RunMode.RUN_FIRST, None),
        ([CompiledHook(lambda r: OK, Reads.UNCACHEABLE, constant=OK)], RunMode.RUN_FIRST, None),
        ([CompiledHook(lambda r: OK, Reads.CLIENT, constant=OK)], RunMode.RUN_FIRST, None),
    ],
)
def test_a_phase_whose_hooks_always_say_the_same_has_an_answer(
    made: list[CompiledHook], run: RunMode, answer: HookStatus | None
) -> None:
    phase = compiled(made, run)
    assert phase.constant == answer
    assert answer is None or phase.run(request()) == answer


def test_hooks_for_other_methods_and_handlers_are_left_out() -> None:
    get, options, cgi = (
        CompiledHook(lambda r: OK),
        CompiledHook(lambda r: OK, methods=1 << 6),
        CompiledHook(lambda r: OK, handlers=frozenset(("cgi-script",))),
    )
    ready = compiled([get, options, cgi], RunMode.RUN_FIRST)
    assert ready.get_hooks == ((get.fn, False), (cgi.fn, False))
    assert ready.hooks == ((get.fn, False), (options.fn, False), (cgi.fn, False))
    assert ready.named("cgi-script").hooks == ready.hooks
    assert ready.named("server-status").hooks == ((get.fn, False), (options.fn, False))
    assert ready.for_type("text/html; charset=x") == ("text/html", ready.named("text/html"))
    assert ready.for_type(None)[0] == "default-handler"


@pytest.mark.parametrize(
    ("made", "idle"),
    [
        ([CompiledHook(lambda r: OK, needs_file=True)] * 2, True),
        ([CompiledHook(lambda r: OK, needs_file=True), CompiledHook(lambda r: OK)], False),
        ([CompiledHook(lambda r: OK, Reads.UNCACHEABLE, needs_file=True)], False),
        ([CompiledHook(lambda r: OK, Reads.CLIENT, needs_file=True)], False),
    ],
)
def test_a_phase_is_idle_without_a_file_where_all_its_hooks_need_one(
    made: list[CompiledHook], idle: bool
) -> None:
    assert compiled(made, RunMode.RUN_ALL).needs_file is idle


def test_a_phase_waits_where_one_of_its_hooks_may() -> None:
    for waits in (True, False):
        hooks = [CompiledHook(lambda r: OK), CompiledHook(lambda r: OK, is_async=waits)]
        outcome = CompiledPhase(lambda hooks=hooks: hooks, RunMode.RUN_ALL).run(request())
        assert run_sync(outcome) == OK if waits else outcome == OK


def test_hooks_are_compiled_at_the_first_run() -> None:
    made: list[int] = []

    def make() -> list[CompiledHook]:
        made.append(1)
        return [ASKED]

    phase = CompiledPhase(make, RunMode.RUN_FIRST)
    assert not made
    assert [phase.run(request()), phase.run(request()), made] == [DECLINED, DECLINED, [1]]


def test_a_phase_records_what_its_result_depends_on() -> None:
    for reads, wanted in ((Reads.UNCACHEABLE, (True, False)), (Reads.CLIENT, (False, True))):
        r = request()
        compiled([CompiledHook(lambda r: OK, reads)], RunMode.RUN_ALL).run(r)
        assert (r.deps.is_uncacheable, r.deps.on_client) == wanted
