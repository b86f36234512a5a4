"""Corresponding sections and lines of two texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify import alignment as module
from whimbrel.verify.alignment import Alignment, align
from whimbrel.verify.config_lines import LineScope, SideLines
from whimbrel.verify.coverage.values import ValueForms


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path)
    return tmp_path


def aligned(root: Path, old: str, new: str, dialects: tuple[str, str] = ("2.2", "2.4")) -> Alignment:
    sides = [
        SideLines(side(root, name, text, dialect))
        for name, text, dialect in zip(("old", "new"), (old, new), dialects, strict=True)
    ]
    return Alignment((sides[0], sides[1]))


def differing(root: Path, old: str, new: str, dialects: tuple[str, str] = ("2.2", "2.4")) -> list[str]:
    """Return the lines that differ, those of each side marked with its number."""
    found = aligned(root, old, new, dialects).differing({})
    return [f"{number} {line.text}" for number in (0, 1) for line in found[number]]


def test_members_between_equal_ones_are_paired_by_kind() -> None:
    rows = ["a1", "b1", "c"], ["b2", "a2", "c"]
    found = align(rows, rows, lambda x: x[0])
    assert found.equal == [("c", "c")]
    assert sorted(found.replaced) == [("a1", "a2"), ("b1", "b2")]
    assert found.left == (["a1", "b1"], ["b2", "a2"])


def test_long_rows_are_matched_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ALIGNED", 2)
    found = align(([1, 2, 3], [3, 1, 4]), ([1, 2, 3], [3, 1, 4]), lambda _: "number")
    assert sorted(found.equal) == [(1, 1), (3, 3)]
    assert found.left == ([2], [4])
    assert found.replaced == [(2, 4)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DefaultType text/x-a", 'Header set Content-Type "text/x-a" "expr=-z %{CONTENT_TYPE}"'),
        ("", 'Header set Content-Type text/plain "expr=-z %{CONTENT_TYPE}"'),
        ("", "Timeout 300"),
        ("", "Options All"),
        ("", "FileETag Size INode MTime"),
        ("RewriteRule ^/a(.*) /b$1 [L]", "RewriteRule ^/a(.*) /b$1 [L,BCTLS,BNP]"),
        ("RewriteRule ^/a(.*) /b$1", "RewriteRule ^/a(.*) /b$1 [BCTLS,BNP]"),
    ],
)
def test_what_versions_spell_otherwise_is_equal(root: Path, old: str, new: str) -> None:
    assert differing(root, old, new) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("DefaultType text/x-a", 'Header set Content-Type "text/x-b" "expr=-z %{CONTENT_TYPE}"'),
        ("", "Timeout 60"),
        ("Timeout 300", ""),
        ("", "Timeout 30\nTimeout 300"),
        ("", 'Header set Content-Type text/x-a "expr=-z %{CONTENT_TYPE}"'),
        ("RewriteRule ^/a(.*) /b$1 [L]", "RewriteRule ^/a(.*) /b$1 [L,NE,BCTLS]"),
    ],
)
def test_other_values_differ(root: Path, old: str, new: str) -> None:
    assert differing(root, old, new) != []


def test_a_default_does_not_count_where_the_other_side_has_the_directive(root: Path) -> None:
    old = '<Directory "@ROOT@/htdocs">\nOptions None\n</Directory>'
    assert differing(root, old, old + "\nOptions All") == ["1 Options All"]


def test_flags_that_restore_22_count_between_texts_of_24(root: Path) -> None:
    rule = "RewriteRule ^/a(.*) /b$1 [L{}]"
    assert differing(root, rule.format(""), rule.format(",NE"), ("2.4", "2.4")) != []


def test_sections_in_another_order_differ_where_a_request_may_be_in_both(root: Path) -> None:
    sections = ["<Location {}>\nSetEnv a b\n</Location>"] * 2
    near = [text.format(path) for text, path in zip(sections, ("/a", "/a/b"), strict=True)]
    far = [text.format(path) for text, path in zip(sections, ("/a", "/b"), strict=True)]
    assert differing(root, "\n".join(near), "\n".join(reversed(near))) == ["0 SetEnv a b", "1 SetEnv a b"]
    assert differing(root, "\n".join(far), "\n".join(reversed(far))) == []


def test_copied_htaccess_files_correspond_by_their_place(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("old", "new")]
    for one in roots:
        make_root(one, {"htdocs/.htaccess": "Header set X-A 1\n"})
    text = '<Directory "@ROOT@/htdocs">\nAllowOverride All\n</Directory>'
    sides = [SideLines(side(one, one.name, text, "2.4")) for one in roots]
    found = Alignment((sides[0], sides[1]))
    assert [pair[0].args for pair in found.scopes if pair[0].kind == "htaccess"] == [f"{roots[0]}/htdocs/"]
    assert found.differing({}) == ([], [])


def section(kind: str, args: str) -> LineScope:
    return LineScope(kind, args, "/a.conf", 1)


@pytest.mark.parametrize(
    ("first", "second", "may_meet"),
    [
        (("location", "/a"), ("location", "/b"), False),
        (("location", "/a"), ("location", "/a/b"), True),
        (("location", "/a/b"), ("location", "/a"), True),
        (("location", "/a"), ("location", "/ab"), False),
        (("location", "/a/"), ("location", "/a"), True),
        (("location", "/a"), ("locationmatch", "^/b"), True),
        (("location", "/a"), ("location", "/b*"), True),
        (("location", "/a"), ("location", "~ ^/b"), True),
        (("locationmatch", "^/a"), ("location", "/b"), True),
        (("location", "/a"), ("files", "x"), True),
        (("files", "x"), ("files", "y"), True),
        (("if", "true"), ("location", "/a"), True),
    ],
)
def test_sections_that_a_request_may_be_in_together(
    first: tuple[str, str], second: tuple[str, str], may_meet: bool
) -> None:
    one, other = section(*first), section(*second)
    assert module._may_meet(one, [one, other]) is may_meet


@pytest.mark.parametrize(
    ("kind", "args", "is_ordered"),
    [
        ("directory", "/a", False),
        ("directory", "/a*", True),
        ("directory", "~ /a", True),
        ("directorymatch", "/a", True),
        ("location", "/a", True),
        ("files", "a", True),
        ("if", "true", True),
    ],
)
def test_directories_are_merged_by_their_length(kind: str, args: str, is_ordered: bool) -> None:
    """sections.html: all other sections in the order of the text."""
    assert module._is_ordered(section(kind, args)) is is_ordered


@pytest.mark.parametrize(
    ("first", "second", "is_equal"),
    [
        (("directory", "/a/"), ("directory", '"/a"'), True),
        (("directory", "/"), ("directory", "//"), True),
        (("directory", "/a"), ("directory", "/b"), False),
        (("directorymatch", "/a/"), ("directorymatch", "/a"), False),
        (("directory", "~ /a"), ("directorymatch", "/a"), True),
        (("directory", "/a"), ("directorymatch", "/a"), False),
        (("location", "/a/"), ("location", "/a"), False),
        (("files", '~ "x"'), ("filesmatch", "x"), True),
        (("files", "x"), ("location", "x"), False),
        (("if", "true  &&  true"), ("if", "true && true"), True),
        (("if", "true"), ("if", "false"), False),
    ],
)
def test_keys_of_sections(first: tuple[str, str], second: tuple[str, str], is_equal: bool) -> None:
    keys = [module.section_key(section(*one), ValueForms("/srv")) for one in (first, second)]
    assert (keys[0] == keys[1]) is is_equal
