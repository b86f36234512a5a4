"""Evaluated expressions: the results and messages of httpd 2.4.71 in answers.txt.

Each line was put into a .htaccess file of the real server: ``<If "...">``, or a Header with ``expr=`` for
strings.  The result is ``true`` or ``false`` and the response's Vary field, ``= value``, ``! message`` of a
refusal, or ``? message`` of a failed evaluation.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.expr.stand_in import StandIn, record

from whimbrel.expr.api import compile_condition, compile_string
from whimbrel.expr.errors import EvalError, ExprError
from whimbrel.expr.evaluation import Evaluation
from whimbrel.expr.library import CLIENT, ENVIRONMENT, FILES, HEAD, NOTHING, TIME, USER

ANSWERS = [
    line.split("\t") for line in (Path(__file__).parent / "answers.txt").read_text("utf-8").splitlines()
]


def view() -> StandIn:
    """Return the request that the real server got."""
    head = {"Host": "127.0.0.1:18231", "X-A": "Foo", "X-N": "15", "Referer": "r"}
    return StandIn(record(head, uri="/c/index.html", env={"NUM": "10", "ENVV": "envval"}))


def unique(names: list[str]) -> str:
    """Return the Vary field as sent: of equal names the last one is dropped."""
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.lower(), name)
    return ",".join(first.values())


def answer(kind: str, text: str) -> str:
    try:
        if kind == "string":
            return ("= " + compile_string(text, restricted=True)(view())).rstrip()
        evaluation = Evaluation(view())
        result = "true" if compile_condition(text, restricted=True).test(evaluation) else "false"
        return f"{result} {unique(evaluation.vary)}".rstrip()
    except ExprError as problem:
        return f"! {problem.reason}"
    except EvalError as problem:
        return f"? {problem.reason}"


@pytest.mark.parametrize(
    ("kind", "text", "known"), ANSWERS, ids=[f"{kind}-{text[:50]}" for kind, text, _ in ANSWERS]
)
def test_answers_of_httpd(kind: str, text: str, known: str) -> None:
    assert answer(kind, text) == known.rstrip()


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("true", NOTHING),
        ("'a' -strmatch tolower('A')", NOTHING),
        ("req('X') == 'a'", {HEAD}),
        ("-R '10.0.0.0/8'", {CLIENT}),
        ("%{TIME_HOUR} -gt 12 || -f '/x'", {TIME, FILES}),
        ("%{REMOTE_USER} == 'joe'", {HEAD, USER}),
        ("reqenv('X') in { osenv('Y') }", {ENVIRONMENT}),
    ],
)
def test_what_a_condition_depends_on(text: str, reads: set[str]) -> None:
    assert compile_condition(text).reads == reads


def test_a_string_without_anything_to_evaluate_is_fixed() -> None:
    assert compile_string(r"a\tb\101%").fixed == "a\tbA%"
    assert compile_string("a%{REQUEST_URI}").fixed is None
    assert compile_string("").fixed == ""


def test_a_failed_file_fails_the_evaluation(tmp_path: Path) -> None:
    with pytest.raises(EvalError) as caught:
        compile_condition(f"file('{tmp_path}/none') == ''")(view())
    assert caught.value.reason == f"Cannot open file {tmp_path}/none"


def test_names_of_modules_are_looked_up_in_one_case() -> None:
    asked: list[tuple[str, str]] = []
    with pytest.raises(ExprError) as caught:
        compile_condition(
            "Foo('a') == %{Bar} && 'a' in Baz('b')", lookup=lambda group, name: asked.append((group, name))
        )
    assert asked == [("expr_function", "foo"), ("expr_variable", "BAR"), ("expr_list", "baz")]
    assert caught.value.reason == "List-returning function 'Baz' does not exist"
