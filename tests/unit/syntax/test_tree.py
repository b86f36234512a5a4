"""The lossless tree: the round trip, the shape of sections, text that httpd refuses."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.syntax.lines import MAX_SECTIONS, V22_LINES, V24_LINES, LineRules
from whimbrel.syntax.tree import Blank, Comment, Directive, Document, Malformed, Section, parse

FILE = b"""# hosts
<VirtualHost *:80>
    ServerName "a b"

    <directory /srv>
        Options \\
            None
    </Directory> # srv
</VirtualHost>
<Else>
</Else>
"""

LINES = st.sampled_from(
    [
        b"",
        b"  ",
        b"# c",
        b"Options a",
        b"<A x>",
        b"</A>",
        b"<b>",
        b"</B>",
        b"</a > x",
        b"<",
        b"<>",
        b"</>",
        b"</",
        b'"<A" x',
        b"x \\",
        b"\\",
        b"\0",
        b"\xef\xbb\xbf<A>",
        b'"" x',
        b">",
        b"<A",
        b"</A",
        b'"unbalanced',
    ]
)
FILES = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\\\n"]))).map(
    lambda pairs: b"".join(line + end for line, end in pairs)
)


def rejoined(document: Document) -> bytes:
    end = 0
    for start, stop in document.ranges():
        assert start == end
        end = stop
    return b"".join(document.bytes[start:stop] for start, stop in document.ranges())


@given(st.one_of(st.binary(max_size=200), FILES), st.sampled_from([V22_LINES, V24_LINES]))
def test_round_trip(data: bytes, rules: LineRules) -> None:
    assert rejoined(parse(data, rules)) == data


@given(FILES)
def test_children_lie_inside_their_section_and_in_order(data: bytes) -> None:
    for node in parse(data).walk():
        if isinstance(node, Section):
            ends = [node.body, *(child.end for child in node.children)]
            starts = [*(child.start for child in node.children), node.close.start if node.close else node.end]
            assert ends == starts
            assert node.end == (node.close.end if node.close else starts[-1])


def test_a_file_becomes_nodes() -> None:
    comment, host, other = parse(FILE).children
    assert isinstance(comment, Comment) and isinstance(host, Section) and isinstance(other, Section)
    name, blank, folder = host.children
    assert isinstance(name, Directive) and isinstance(blank, Blank) and isinstance(folder, Section)
    assert (host.name, host.args, host.number) == ("VirtualHost", "*:80>", 2)
    assert (name.name, name.args, name.number) == ("ServerName", '"a b"', 3)
    assert (folder.name, folder.args) == ("directory", "/srv>")
    assert folder.close is not None and (folder.close.name, folder.close.number) == ("Directory", 8)
    assert (other.name, other.args) == ("Else", ">")


def test_a_continued_directive_has_the_last_line_number_and_all_its_bytes() -> None:
    document = parse(FILE)
    options = next(node for node in document.walk() if isinstance(node, Directive) and node.name == "Options")
    assert options.number == 7
    assert options.args.split() == ["None"]
    assert document.source(options) == b"        Options \\\n            None\n"


def test_walk_goes_in_the_order_of_the_source() -> None:
    starts = [node.start for node in parse(FILE).walk()]
    assert starts == sorted(starts)
    assert len(starts) == 7


@pytest.mark.parametrize(
    "data", [b"</A>", b"<B x>\n</A>\n</B>", b"</>", b"</A >", b'""', b"> x", b"<A x>\n</A\n"]
)
def test_what_httpd_refuses_or_passes_over_is_broken(data: bytes) -> None:
    assert sum(isinstance(node, Malformed) for node in parse(data).walk()) == 1


@pytest.mark.parametrize("rules", [V22_LINES, V24_LINES])
def test_a_last_line_that_is_not_read_is_broken(rules: LineRules) -> None:
    (node,) = parse(b"\\\n\\\n", rules).children
    assert isinstance(node, Malformed) and (node.start, node.end) == (0, 4)


def test_22_does_not_read_a_continued_last_line() -> None:
    (node,) = parse(b"Options a\\\n", V22_LINES).children
    assert isinstance(node, Malformed)
    (node,) = parse(b"Options a\\\n", V24_LINES).children
    assert isinstance(node, Directive)


def test_an_outer_closing_tag_ends_unclosed_sections() -> None:
    data = b"<A x>\n<B y>\nOptions a\n</A>\nOptions b\n"
    outer, after = parse(data).children
    assert isinstance(outer, Section) and isinstance(after, Directive) and outer.close is not None
    (inner,) = outer.children
    assert isinstance(inner, Section) and inner.close is None
    assert data[inner.start : inner.end] == b"<B y>\nOptions a\n"


def test_only_ascii_letters_have_a_case() -> None:
    (section,) = parse(b"<\xc0 x>\n</\xe0>").children
    assert isinstance(section, Section) and section.close is None
    assert isinstance(section.children[0], Malformed)


def test_names_with_quotes_open_and_close_sections() -> None:
    (section,) = parse(b'"<Directory" />\n"</Directory>"\n').children
    assert isinstance(section, Section) and section.close is not None


def test_deep_nesting() -> None:
    depth = MAX_SECTIONS
    document = parse(b"<A x>\n" * depth + b"Options a\n" + b"</A>\n" * depth)
    assert sum(1 for _ in document.walk()) == depth + 1
    assert rejoined(document) == document.bytes
    assert "Section" in repr(document.children[0])


def test_too_deep_nesting_ends_the_tree_and_keeps_the_bytes() -> None:
    data = b"<A x>\n" * (MAX_SECTIONS + 1) + b"</A>\n" * (MAX_SECTIONS + 1)
    nodes = list(parse(data).walk())
    assert len(nodes) == MAX_SECTIONS + 1
    assert isinstance(nodes[-1], Malformed) and (nodes[-1].number, nodes[-1].end) == (1001, len(data))
    assert "".join(data[start:end].decode() for start, end in parse(data).ranges()).encode() == data


@pytest.mark.parametrize("on", [True, False])
def test_the_garbage_collector_stays_as_it_was(on: bool) -> None:
    was = gc.isenabled()
    try:
        (gc.enable if on else gc.disable)()
        parse(FILE)
        assert gc.isenabled() is on
    finally:
        (gc.enable if was else gc.disable)()
