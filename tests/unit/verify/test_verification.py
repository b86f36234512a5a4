"""The examples that a group of differences keeps."""

from __future__ import annotations

from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import MAX_EXAMPLES, DifferenceGroup, Example


def example(old: int, new: int, name: str = "status") -> Example:
    part = FieldDifference(name, str(old), str(new))
    return Example(Probe(f"/{old}-{new}-{name}"), Difference((part,)), Answer(old), Answer(new))


def group_of(*examples: Example) -> DifferenceGroup:
    group = DifferenceGroup("response", Cause((), ()))
    for one in examples:
        group.add(one)
    return group


def test_the_first_examples_are_kept() -> None:
    group = group_of(*(example(200, 404) for _ in range(9)))
    assert (group.count, len(group.examples)) == (9, MAX_EXAMPLES)
    assert not group.opens and not group.closes


def test_an_example_that_opens_or_closes_is_kept_however_late() -> None:
    """Also behind the examples whose differences are in other parts."""
    many = [example(200, 200, f"x-{number}") for number in range(20)]
    group = group_of(*many, example(403, 200), example(200, 403), *many)
    assert group.opens and group.closes
    assert len(group.examples) <= 2 * MAX_EXAMPLES


def test_the_first_one_of_each_kind_of_difference_is_kept() -> None:
    group = group_of(*(example(200, 404) for _ in range(9)), example(200, 200, "etag"))
    assert [one.difference.names for one in group.examples][-1] == ("etag",)
