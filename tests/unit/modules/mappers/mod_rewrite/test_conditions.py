"""RewriteCond. Every expectation is recorded from 2.4.71 and, where a version is named, from 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.mappers.mod_rewrite.conditions import by_length

LOAD = "LoadModule rewrite_module modules/mod_rewrite.so\nRewriteEngine On\n"


def holds(root: Path, cond: str, query: str, version: str = "2.4") -> bool:
    conf = f"{LOAD}RewriteCond {cond}\nRewriteRule ^/c /a.txt\n"
    return (
        fetch(
            build_engine(
                root, conf, {"htdocs/a.txt": "A", "htdocs/d/x.txt": "DX", "htdocs/empty": ""}, version
            ),
            f"/c?{query}",
        ).status
        == 200
    )


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("=abc", "abc", "abcd"),
        ("!=abc", "x", "abc"),
        ("<m", "a", "z"),
        (">m", "z", "a"),
        ('=""', "", "x"),
        ("=ABC [NC]", "abc", "abd"),
        ("!<m", "z", "a"),
        (">M [NC]", "z", "a"),
        ("-eq5", "05", "10"),
        ("-ge6", "6", "5"),
        ("-gt5", "6", "5"),
        ("-le5", "-5", "6"),
        ("-lt10", "9", "10"),
        ("-ne5", "4", "5"),
        ("!-eq5", "4", "5"),
        ("<=5", "5", "10"),
        (">=5", "10", "4"),
        ("^a(.)$", "ab", "b"),
        ("!x", "a", "xx"),
    ],
)
def test_comparisons(tmp_path: Path, pattern: str, yes: str, no: str) -> None:
    assert holds(tmp_path, f"%{{QUERY_STRING}} {pattern}", yes)
    assert not holds(tmp_path, f"%{{QUERY_STRING}} {pattern}", no)


@pytest.mark.parametrize(
    ("test", "yes", "no"),
    [
        ("-f", "a.txt", "d"),
        ("-d", "d", "a.txt"),
        ("-s", "a.txt", "empty"),
        ("!-f", "none", "a.txt"),
        ("-F", "a.txt", "none"),
    ],
)
def test_files(tmp_path: Path, test: str, yes: str, no: str) -> None:
    assert holds(tmp_path, f"@/htdocs/%{{QUERY_STRING}} {test}", yes)
    assert not holds(tmp_path, f"@/htdocs/%{{QUERY_STRING}} {test}", no)


def test_expressions(tmp_path: Path) -> None:
    assert holds(tmp_path, "expr \"%{QUERY_STRING} == 'x=1'\"", "x=1")
    assert not holds(tmp_path, "expr \"! %{QUERY_STRING} == 'x=1'\"", "x=1")


def test_the_old_comparison_has_no_equals(tmp_path: Path) -> None:
    assert not holds(tmp_path, "%{QUERY_STRING} >=m", "m", "2.2")
    assert holds(tmp_path, "%{QUERY_STRING} >M [NC]", "a", "2.2")  # NC is dropped: a sorts after M


def test_groups_of_conditions_and_rules(tmp_path: Path) -> None:
    conf = (
        LOAD + "RewriteCond %{QUERY_STRING} ^a(.) [OR]\nRewriteCond %{QUERY_STRING} ^b(.)\nRewriteRule "
        "^/(c)(x)? http://h.test/$1-$2-%1-%2? [R]\n"
    )
    assert fetch(build_engine(tmp_path, conf), "/c?b2").get("Location") == "http://h.test/c--2-"
    assert fetch(build_engine(tmp_path, conf), "/c?zz").status == 404


def test_order_of_strings_is_by_length_first() -> None:
    assert [by_length(*pair) for pair in (("b", "aa"), ("a", "b"), ("x", "x"), ("10", "9"))] == [-1, -1, 0, 1]
