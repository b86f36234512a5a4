"""An expression that is compiled late matches as one that is compiled at once."""

from __future__ import annotations

import re

import pytest

from whimbrel.base.lazy_re import compile

TEXT = r"(?P<word>[a-z]+)(\d)?"


def test_nothing_is_compiled_before_it_is_asked() -> None:
    wrong = compile("(")
    with pytest.raises(re.error):
        wrong.match("x")


def test_methods() -> None:
    late, now = compile(TEXT, re.IGNORECASE), re.compile(TEXT, re.IGNORECASE)
    for text in ("", "1", "Ab1 c", "x y 2"):
        for method in ("match", "fullmatch", "search"):
            ours, theirs = getattr(late, method)(text), getattr(now, method)(text)
            assert (ours and ours.groups()) == (theirs and theirs.groups())
        assert late.findall(text) == now.findall(text)
        assert late.sub("-", text) == now.sub("-", text)
        assert late.split(text) == now.split(text)
        assert [found.span() for found in late.finditer(text)] == [
            found.span() for found in now.finditer(text)
        ]
    assert (late.pattern, late.flags, late.groups, dict(late.groupindex)) == (
        now.pattern,
        now.flags,
        now.groups,
        dict(now.groupindex),
    )


def test_bytes() -> None:
    found = compile(rb"\w+").match(b"ab c")
    assert found is not None and found[0] == b"ab"


def test_it_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError):
        _ = compile("x").nosuch  # type: ignore[attr-defined]
