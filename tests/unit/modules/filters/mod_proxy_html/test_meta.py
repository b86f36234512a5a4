"""ProxyHTMLMeta: fields from META elements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.filters.mod_proxy_html.meta import copy_fields


@pytest.mark.parametrize(
    ("element", "wanted"),
    [
        (b'<meta http-equiv="refresh" content="5; url=/x">', [("refresh", "5; url=/x")]),
        (b"<META HTTP-EQUIV=X-Foo CONTENT=bar>", [("X-Foo", "bar")]),
        (b"<meta http-equiv='X-A' content = 'b c'>", [("X-A", "b c")]),
        (b"<meta http-equiv=Content-Language content=de>", []),
        (b"<meta http-equiv=X-Foo content='a\nb'>", []),
        (b"<meta name=x content=y>", []),
        (b'<meta http-equiv="X-A" content="">', [("X-A", "")]),
        (b'<meta http-equiv="X-A" content="a>b"><p>', [("X-A", "a>b")]),
        (b"<meta http-equiv=X-A content='a><p>", []),
        (b'<meta http-equiv="X-Content" content="a">', []),
        (b'<meta content="a" http-equiv="X-Content">', [("X-Content", "a")]),
    ],
)
def test_fields(element: bytes, wanted: list[tuple[str, str]]) -> None:
    r: Any = SimpleNamespace(headers_out=Headers())
    assert copy_fields(r, b"<html><head>" + element) is None
    assert r.headers_out.items() == wanted


def test_the_position_of_the_content_type() -> None:
    r: Any = SimpleNamespace(headers_out=Headers())
    start = b"<html><meta http-equiv=Content-Type content='text/html; charset=x'><p>"
    where = copy_fields(r, start)
    assert where is not None
    assert start[: where[0]] + start[where[1] :] == b"<html><p>"
