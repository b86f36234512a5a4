"""Tables of both kinds; the CSV has the layout of a public project."""

from __future__ import annotations

import pytest

from whimbrel.cli.rewrite_cases import BadTable, RewriteCase, read_cases


def test_lines() -> None:
    assert read_cases("# c\n\n/a 301 /b\n/c [Accept: text/html] [X-Y: 1] 303 http://h/d\n/e 410\n") == [
        RewriteCase(3, "/a", 301, "/b"),
        RewriteCase(4, "/c", 303, "http://h/d", (("Accept", "text/html"), ("X-Y", "1"))),
        RewriteCase(5, "/e", 410),
    ]


def test_csv() -> None:
    text = (
        '"request_url", "request_header_accept", "request_header_user-agent", '
        '"response_url", "response_header_content-type", '
        '"response_statuscode"\n# c\n'
        '"https://h.test/a?b", "text/html", "", "https://x/y", "text/html", "303"\n"/z", "", ""\n'
    )
    assert read_cases(text) == [
        RewriteCase(3, "https://h.test/a?b", 303, "https://x/y", (("accept", "text/html"),)),
        RewriteCase(4, "/z", 0),
    ]


@pytest.mark.parametrize("text", ["/a\n", "/a moved /b\n", "a,b\n1,2\n", "path,status\n/a,x\n"])
def test_bad_tables(text: str) -> None:
    with pytest.raises(BadTable):
        read_cases(text)
