"""Ranges of names and arguments: cutting them out of the source gives what was read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.syntax.lines import V22_LINES, V24_LINES, LineRules
from whimbrel.syntax.spans import args_range, name_range
from whimbrel.syntax.tree import Directive, Document, Section, parse


def first(data: bytes, rules: LineRules = V24_LINES) -> tuple[Document, Directive | Section]:
    document = parse(data, rules)
    node = document.children[-1]
    assert isinstance(node, Directive | Section)
    return document, node


@pytest.mark.parametrize(
    ("data", "name", "args"),
    [
        (b"  Options  a  b \r\n", b"Options", b"a  b"),
        (b"x\n\tOptions a", b"Options", b"a"),
        (b'"Options"a\n', b'"Options"', b"a"),
        (b"Opt\\\nions \\\n a \\\n b\n", b"Opt\\\nions", b"a \\\n b"),
        (b"Options a\0b\n", b"Options", b"a"),
        (b"<Directory /srv>\n</Directory>", b"<Directory", b"/srv>"),
        (b"<Else>\n</Else>", b"<Else>", b""),
        (b"Options\n", b"Options", b""),
        (b"Options a\\\\\n\n b\n", b"Options", b"a\\\\\n\n b"),
    ],
)
def test_ranges(data: bytes, name: bytes, args: bytes) -> None:
    document, node = first(data)
    start, end = name_range(document, node)
    assert data[start:end] == name
    start, end = args_range(document, node)
    assert data[start:end] == args


def test_a_part_of_the_arguments() -> None:
    data = b"Order \\\r\n  deny,allow\r\n"
    document, node = first(data)
    start, end = args_range(document, node, node.args.index("allow"))
    assert apply(data, [Group((Edit(start, end, b"X"),))]) == b"Order \\\r\n  deny,X\r\n"
    assert args_range(document, node, 2, 2) == (13, 13)


def test_a_closing_tag_has_a_name_too() -> None:
    data = b"<A x>\n </a> # end\n"
    document, node = first(data)
    assert isinstance(node, Section) and node.close is not None
    start, end = name_range(document, node.close)
    assert data[start:end] == b"</a>"


WORDS = st.lists(st.sampled_from(["a", "b'c", '"d e"', "\\\\"]), min_size=1, max_size=4)


@given(WORDS, st.lists(st.integers(1, 30), max_size=3), st.sampled_from([V22_LINES, V24_LINES]))
def test_replacing_the_arguments_replaces_what_was_read(
    words: list[str], breaks: list[int], rules: LineRules
) -> None:
    data = b"  Name " + " ".join(words).encode()
    for place in sorted(breaks, reverse=True):
        if place < len(data) and b"\\" not in data[place - 1 : place + 1]:
            data = data[:place] + b"\\\n" + data[place:]
    document, node = first(data + b"\n", rules)
    start, end = args_range(document, node)
    _, changed = first(apply(document.bytes, [Group((Edit(start, end, b"NEW"),))]), rules)
    assert isinstance(changed, Directive) and (changed.name, changed.args) == ("Name", "NEW")
