"""Mutations of a small text: each kind, and that the result is Python."""

from __future__ import annotations

import ast
import random

import pytest

from tests.mutants.places import Mutation, mutations, sampled
from tests.mutants.run import ROOT, equivalents

SOURCE = b'''"""A module."""
NAMES = ("a", "b", "c")


def answer(request: int | None, *, limit: int = 5) -> int:
    """Words."""
    if not request:
        return 404
    request += 1
    print("\xc3\xa9", request)
    if request not in NAMES and limit >= 2:
        raise ValueError("words")
    return request - limit
'''


def found(kind: str) -> list[str]:
    """Return what the mutations of a kind change, as `old -> new`."""
    return [f"{one.old} -> {one.new}" for one in mutations("a.py", SOURCE) if one.kind == kind]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("comparison", ["not in -> in", ">= -> >"]),
        ("and, or", ["and -> or"]),
        ("not", ["not  -> "]),
        ("status", ["404 -> 403"]),
        ("early return", ["not request -> False"]),
        ("arithmetic", ["- -> +"]),
        ("dropped statement", ["request += 1 -> pass", 'print("é", request) -> pass']),
        ("element", ['"a",  -> ', '"b",  -> ']),
    ],
)
def test_kinds(kind: str, expected: list[str]) -> None:
    assert found(kind) == expected


def test_words_annotations_and_defaults_stay() -> None:
    olds = {one.old for one in mutations("a.py", SOURCE)}
    assert not olds & {'"""Words."""', '"""A module."""', "5", '"words"', "int | None"}


def test_an_element_in_parentheses_stays() -> None:
    text = b"A = [(b or c), (d), f(g), h]\n"
    lost = [one.old for one in mutations("a.py", text) if one.kind == "element"]
    assert lost == ["f(g), "]


def test_a_parenthesis_behind_not_stays() -> None:
    (mutation,) = [one for one in mutations("a.py", b"A = not (b or c)\n") if one.kind == "not"]
    assert mutation.applied(b"A = not (b or c)\n") == b"A = (b or c)\n"


def test_numbers_of_bounds_stay() -> None:
    text = b"MAX_LINES = 7\n_MAX_BODY: Final = 1 << 20\nREAD_TIMEOUT = 3.0\nNAMES = {1: 2}\nPORT = 80\n"
    assert {one.old for one in mutations("a.py", text)} == {"1", "2", "80"}


def test_every_result_is_python() -> None:
    for path in ("src/whimbrel/verify/causes.py", "src/whimbrel/http/dates.py"):
        file = ROOT / path
        source = (file if file.exists() else ROOT / "src/whimbrel/base/product.py").read_bytes()
        for one in mutations(path, source):
            assert one.applied(source) != source
            ast.parse(one.applied(source))


def test_a_sample_has_all_kinds() -> None:
    all_of_them = mutations("a.py", SOURCE)
    sample = list(sampled(list(all_of_them), 9, random.Random(1).shuffle))
    assert {one.kind for one in sample} == {one.kind for one in all_of_them}
    assert len(list(sampled(list(all_of_them), 1000, random.Random(1).shuffle))) == len(all_of_them)


def test_equivalents_have_a_reason() -> None:
    assert all(reason.strip() for reason in equivalents().values())


def test_a_key_does_not_depend_on_the_line() -> None:
    moved = mutations("a.py", SOURCE.replace(b"NAMES =", b"OTHER = 1\nNAMES ="))
    keys = {one.key() for one in mutations("a.py", SOURCE)}
    assert keys <= {one.key() for one in moved}
    assert isinstance(moved[0], Mutation)
