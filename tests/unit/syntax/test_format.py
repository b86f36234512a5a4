"""Formatting: its effect on a file, and that the meaning never changes."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.samples import amount

from whimbrel.base.latin1 import to_text as as_text
from whimbrel.syntax.format import NotTheSame, formatted
from whimbrel.syntax.lines import V22_LINES, V24_LINES, scan, split_name

NAMES = {
    name.lower(): name
    for name in (
        "ServerName",
        "<VirtualHost",
        "<Directory",
        "Options",
        "<Macro",
        "<Perl",
        "<IfModule",
        "<Else",
    )
}


def spelled(name: str) -> str | None:
    return NAMES.get(name.lower())


def said(data: bytes, rules: object) -> list[tuple[str, str]]:
    """Return what httpd reads of a file: names in lower case, arguments unchanged."""
    lines = [text for _s, _e, _n, text in scan(as_text(data), rules) if text and text[0] != "#"]  # type: ignore[arg-type]
    return [(name.encode("latin-1").lower().decode("latin-1"), args) for name, args in map(split_name, lines)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"servername a\n", b"ServerName a\n"),
        (b"\n\nServerName a  \n\n\n\n# end\n\n", b"ServerName a\n\n# end\n"),
        (
            b"<virtualhost *:80>\n\nSERVERNAME   a\n\n</VIRTUALHOST>",
            b"<VirtualHost *:80>\n    ServerName   a\n</VirtualHost>\n",
        ),
        (
            b"<Directory />\n<IfModule x>\n# why\nOptions \\\n   None\n</IfModule>\n</Directory>\n",
            b"<Directory />\n    <IfModule x>\n        # why\n        Options \\\n   None\n"
            b"    </IfModule>\n</Directory>\n",
        ),
        (
            b"<macro m servername>\nservername x\n</macro>\n",
            b"<Macro m servername>\n    servername x\n</Macro>\n",
        ),
        (
            b"<perl>\n  $x = 1;\n\n\n\tprint\n</perl>\nservername a\n",
            b"<perl>\n  $x = 1;\n\n\n\tprint\n</perl>\nServerName a\n",
        ),
        (b"<Else>\r\n\toptions None\t\r\n</Else>\r\n", b"<Else>\r\n    Options None\r\n</Else>\r\n"),
        (b"Unknown \\ \nServerName a\n", b"Unknown \\ \nServerName a\n"),
        (b"ServerName a\\", b"ServerName a\\"),
        (b"<Directory />\noptions None\n", b"<Directory />\noptions None\n"),
        (b"", b""),
        (b"\n\n", b""),
    ],
)
def test_formatting(before: bytes, after: bytes) -> None:
    assert formatted(before, spelled) == after
    assert formatted(after, spelled) == after


LINES = st.sampled_from(
    [
        b"servername a",
        b"  Options  None ",
        b"<directory />",
        b"</DIRECTORY>",
        b"<IfModule x>",
        b"</IfModule>",
        b"# note \\",
        b"#",
        b"",
        b"   ",
        b"\\",
        b"a \\",
        b"a \\ ",
        b"\t<Else>",
        b"</Else>",
        b'"quoted name" x',
        b"</",
        b"<macro m a>",
        b"</macro>",
        b"<perl>",
        b"</perl>",
        b"x\0y",
        b"\v z",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\n\n"])
FILES = st.lists(st.tuples(LINES, ENDS), max_size=14).map(
    lambda pairs: b"".join(line + end for line, end in pairs)
)


@settings(max_examples=amount(200, 600), deadline=None)
@given(FILES | st.binary(max_size=60), st.integers(0, 8))
@example(b"a\\\n", 4)
@example(b"   \\\n b\n", 4)
def test_the_meaning_stays_and_twice_is_once(data: bytes, indent: int) -> None:
    try:
        once = formatted(data, spelled, indent=indent)
    except NotTheSame:
        return
    for rules in (V22_LINES, V24_LINES):
        assert said(once, rules) == said(data, rules)
    assert formatted(once, spelled, indent=indent) == once


@settings(max_examples=amount(100, 300), deadline=None)
@given(FILES)
def test_comments_stay(data: bytes) -> None:
    try:
        once = formatted(data, spelled)
    except NotTheSame:
        return
    assert [line.strip() for line in data.splitlines() if line.lstrip().startswith(b"#")] == [
        line.strip() for line in once.splitlines() if line.lstrip().startswith(b"#")
    ]


def test_a_line_at_22s_limit_is_left_alone() -> None:
    """Eight more blanks would make two lines of one."""
    data = b"<Directory />\n" + b"Options " + b"x" * 8180 + b"\n</Directory>\n"
    with pytest.raises(NotTheSame):
        formatted(data, spelled, indent=8)
