"""Documents in the parser: pieces, size and memory."""

from __future__ import annotations

import pytest

pytest.importorskip("lxml", reason="lxml is not installed")

from whimbrel.modules.filters.mod_proxy_html import html_filter
from whimbrel.modules.filters.mod_proxy_html.html_filter import Document
from whimbrel.modules.filters.mod_proxy_html.settings import ProxyHtmlDirConfig
from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter
from whimbrel.modules.filters.mod_proxy_html.writer import RAW, Writer
from whimbrel.registry.settings import with_defaults

ROW = b'<p class=c>line <a href=/app/1 title="">n &eacute;</a><!-- </p> --><br> text</p>\n'
SCRIPT = b"<script>a = '</b>' < 1;</script>\n"


def written(data: bytes, step: int) -> bytes:
    """Return the output for *data* in pieces of *step* bytes."""
    writer = Writer(with_defaults(ProxyHtmlDirConfig()), Rewriter([]), RAW, lambda _code, _text: None)
    document = Document("utf-8", writer)
    out = [document.feed(data[at : at + step]) for at in range(0, len(data), step)]
    return b"".join((*out, document.end()))


@pytest.mark.parametrize("step", [1, 7, 64, 1000])
def test_pieces_change_nothing(step: int) -> None:
    data = b"<html><body>" + (ROW + SCRIPT) * 30 + b"</body></html>"
    assert written(data, step) == written(data, len(data))


def test_parsers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"<html><body><div><table><tr><td>" + (ROW * 20 + SCRIPT) * 20
    whole = written(data, 512)
    monkeypatch.setattr(html_filter, "MAX_FED", 1000)
    made = []
    monkeypatch.setattr(
        html_filter, "_new_parser", lambda w, new=html_filter._new_parser: made.append(w) or new(w)
    )
    assert written(data, 512) == whole
    assert len(made) > 10


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"<", b"<a href='", b"<!--", b"</p></div>", b"\0\0\0\0\0", b"<script>"]
)
def test_truncated_documents_end(data: bytes) -> None:
    assert isinstance(written(data, 3), bytes)


def test_deep_documents() -> None:
    assert written(b"<div>" * 20_000, 4096).count(b"</div>") == 20_000


def test_an_attribute_of_many_megabytes_stays() -> None:
    """As with httpd's libxml2."""
    value = b"v" * 11_000_000
    out = written(b'<html><body><a title="' + value + b'">t</a></body></html>', 1 << 16)
    assert b'<a title="' + value + b'">t</a>' in out


def test_a_tag_beyond_the_bound_ends_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser keeps the whole tag in memory."""
    monkeypatch.setattr(html_filter, "MAX_TAG", 100_000)
    data = b'<html><body><p>text</p><a title="' + b"v" * 200_000 + b'">t</a><p>more</p></body></html>'
    out = written(data, 1 << 12)
    assert b"<p>text</p>" in out and b"vvv" not in out and b"more" not in out
