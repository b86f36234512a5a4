"""Include: files, order and messages.  Expected texts are those of 2.4.71 and 2.2.34 (@ is the
server root).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.config.includes import has_wildcards, matches
from whimbrel.config.model import all_nodes

HEAD = "apache2: Syntax error on line 1 of @/conf/httpd.conf: "

REFUSED: list[tuple[str, str]] = [
    ("Include a", "Could not open configuration file @/a: No such file or directory"),
    ("Include ?", "Include/IncludeOptional: No matches for the wildcard '?' in '@', failing"),
    ("Include conf/x*/y", "Include/IncludeOptional: No matches for the wildcard 'x*' in '@/conf', failing"),
    (
        "Include nosuch/x*",
        "Include/IncludeOptional: Could not open directory @/nosuch: No such file or directory",
    ),
    (
        "Include conf/i.conf",
        "Syntax error on line 2 of @/conf/i.conf: </Location> without matching <Location> section",
    ),
    (
        'Include ""',
        "Include takes one argument, Name(s) of the config file(s) to be included; "
        "fails if the wildcard does not match at least one file",
    ),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, f"{line}\n", {"conf/i.conf": "\n</Location>\n"}).check() == HEAD + reason


@pytest.mark.parametrize("path", ["conf/nosuch", "nosuch/x*", "conf/*/x", "conf/httpd.conf/x"])
def test_optional(tmp_path: Path, path: str) -> None:
    assert Site(tmp_path, f"IncludeOptional {path}\n").check() == "Syntax OK"


def test_old_dialect_lets_wildcards_match_nothing(tmp_path: Path) -> None:
    assert Site(tmp_path, "Include conf/x*.conf\n").check("2.2") == "Syntax OK"


def test_order_of_a_folder(tmp_path: Path) -> None:
    """Byte order, dot files included, directories at the position of their name."""
    files = {
        f"conf/d/{name}": f"SetEnv {name.replace('/', '_')} 1\n"
        for name in ("b", "a/z", "a/B", ".c", "B", "c")
    }
    tree = Site(tmp_path, "Include conf/d\n", files).load().tree
    assert [node.args.split()[0] for node in all_nodes(tree) if node.name == "SetEnv"] == [
        ".c",
        "B",
        "a_B",
        "a_z",
        "b",
        "c",
    ]


def test_wildcards_in_any_part(tmp_path: Path) -> None:
    files = {
        "conf/a1/x.conf": "SetEnv one 1\n",
        "conf/a2/x.conf": "SetEnv two 1\n",
        "conf/a2/.x.conf": "SetEnv three 1\n",
    }
    tree = Site(tmp_path, "Include conf/a*/*.conf\n", files).load().tree
    assert [node.args for node in all_nodes(tree) if node.name == "SetEnv"] == ["one 1", "two 1"]


def test_recursion_ends() -> None:
    with tempfile.TemporaryDirectory() as root:  # a short path: a longer line is cut
        text = Site(Path(root), "Include conf/httpd.conf\n").check()
    assert text.endswith("Exceeded maximum include depth of 128, There appears to be a recursion.")
    assert text.count("Syntax error on line 1 of @/conf/httpd.conf: ") == 129


def test_places_name_the_file_and_the_way_there(tmp_path: Path) -> None:
    files = {"conf/i.conf": "\nSetEnv A b\n"}
    configuration = Site(tmp_path, "\n\nInclude conf/i.conf\n", files).load()
    place = next(node.place for node in all_nodes(configuration.tree) if node.name == "SetEnv")
    assert (place.path, place.line) == (f"{tmp_path}/conf/i.conf", 2)
    assert place.included_from is not None
    assert (place.included_from.path, place.included_from.line) == (f"{tmp_path}/conf/httpd.conf", 3)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("*", "a", True),
        ("*", ".a", False),
        (".*", ".a", True),
        ("a?c", "abc", True),
        ("[a-c]x", "bx", True),
        ("[!a]x", "ax", False),
        ("a\\*", "a*", True),
    ],
)
def test_patterns(pattern: str, name: str, found: bool) -> None:
    assert matches(pattern, name) is found


@pytest.mark.parametrize(
    ("text", "wild"),
    [("a", False), ("a*", True), ("a[", False), ("a[b]", True), ("a\\*", False), ("a]b[", False)],
)
def test_has_wildcards(text: str, wild: bool) -> None:
    assert has_wildcards(text) is wild
