"""Sets of bytes: POSIX classes against the C locale's, order of samples, partitions."""

from __future__ import annotations

import string

import pytest

from whimbrel.access.patterns import classes
from whimbrel.access.patterns.classes import folded, members_of, partition, span

C_LOCALE = {
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "ascii": "".join(map(chr, range(128))),
    "blank": " \t",
    "cntrl": "".join(map(chr, (*range(32), 127))),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": " \t\n\v\f\r",
    "upper": string.ascii_uppercase,
    "word": string.ascii_letters + string.digits + "_",
    "xdigit": string.hexdigits,
}
"""The members of the classes in the C locale (isalpha(3))."""


@pytest.mark.parametrize("name", sorted(C_LOCALE))
def test_the_classes_of_pcre(name: str) -> None:
    assert sorted(members_of(classes.POSIX[name])) == sorted(map(ord, C_LOCALE[name]))


def test_there_are_no_others() -> None:
    assert classes.POSIX.keys() == C_LOCALE.keys()


def test_every_byte_is_a_member_and_plain_ones_come_first() -> None:
    found = members_of(classes.ANY)
    assert sorted(found) == list(range(256))
    assert members_of(span(255, 255)) == [255]
    assert bytes(members_of(span(33, 126)))[:3] == b"xae"
    assert [members_of(one)[0] for one in (span(65, 90), span(128, 255), span(0, 31))] == [65, 128, 9]


@pytest.mark.parametrize("letter", string.ascii_letters)
def test_letters_are_folded(letter: str) -> None:
    assert sorted(members_of(folded(1 << ord(letter)))) == sorted({ord(letter.upper()), ord(letter.lower())})


@pytest.mark.parametrize("byte", [*range(65), *range(91, 97), *range(123, 256)])
def test_nothing_else_is_folded(byte: int) -> None:
    assert folded(1 << byte) == 1 << byte


def test_a_partition_is_the_coarsest() -> None:
    digits, low = span(48, 57), span(48, 51)
    parts = partition([digits, low])
    assert sorted(parts) == sorted([low, digits & ~low, classes.ANY & ~digits])
    assert partition([]) == [classes.ANY]
    assert partition([digits], 0) == []
    assert partition([digits], low) == [low]
