"""What is written for the events of the parser; the expected texts are apache2's."""

from __future__ import annotations

from typing import Any

from whimbrel.modules.filters.mod_proxy_html.markup import MARK
from whimbrel.modules.filters.mod_proxy_html.settings import ProxyHtmlDirConfig
from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter, UrlMap
from whimbrel.modules.filters.mod_proxy_html.writer import RAW, Writer, escape
from whimbrel.registry.settings import with_defaults

LOGGED: list[tuple[str, str]] = []


def writer(*switches: str, **fields: Any) -> Writer:
    """Return a writer under a configuration that maps /app/ to /new/ in links of `a`."""
    conf = with_defaults(
        ProxyHtmlDirConfig(links={"a": ["href"]}, events=["onclick"], switches=frozenset(switches), **fields)
    )
    LOGGED.clear()
    return Writer(
        conf, Rewriter([UrlMap("/app/", "/new/")]), RAW, lambda code, text: LOGGED.append((code, text))
    )


def test_characters_are_escaped() -> None:
    assert escape("<a b=\"c\"> & 'd' ä") == "&lt;a b=&quot;c&quot;&gt; &amp; 'd' ä"


def test_attributes_with_and_without_value() -> None:
    made = writer()
    made.start("input", {"checked": "", "alt": MARK, "title": 'a"b'})
    made.start("a", {"href": "/app/ä", "title": "/app/"})
    assert made.take().decode() == ('<input checked alt="" title="a&quot;b"><a href="/new/ä" title="/app/">')


def test_empty_elements() -> None:
    made = writer(is_xhtml=True)
    for name in ("br", "p"):
        made.start(name, {})
        made.end(name)
    assert made.take() == b"<br /><p></p>"


def test_contents_of_scripts_stay() -> None:
    made = writer()
    made.start("script", {})
    made.data("a < '/app/x'")
    made.end("script")
    made.data("a < b")
    assert made.take() == b"<script>a < '/app/x'</script>a &lt; b"


def test_extended_maps_scripts_events_and_comments_before_an_end_tag() -> None:
    made = writer("extended")
    made.start("p", {"onclick": "go('/app/z')"})
    made.comment(" /app/ ")
    made.end("p")
    made.comment(" lost ")
    made.start("b", {})
    assert made.take() == b"<p onclick=\"go('/new/z')\"><!-- /new/ --></p><b>"


def test_comments_are_stripped() -> None:
    made = writer("strip-comments")
    made.comment("x")
    assert made.take() == b""


def test_fixups_apply_to_all_values() -> None:
    made = writer("lowercase", "dospath")
    made.start("p", {"title": "A\\B"})
    assert made.take() == b'<p title="a/b">'


def test_strict_drops_deprecated_elements_and_foreign_attributes() -> None:
    made = writer(enforced="strict")
    made.start("font", {})
    made.end("font")
    made.start("body", {"background": "x", "id": "i"})
    made.start("img", {"src": "x"})
    assert made.take() == b'<body id="i"><img src="x">'
    assert LOGGED == [
        ("AH01416", "Bogus HTML element font dropped"),
        ("AH01418", "Bogus HTML attribute background of body dropped"),
        ("AH01420", "HTML element img is missing 1 required attributes"),
    ]


def test_legacy_keeps_deprecated_elements() -> None:
    made = writer(enforced="legacy")
    made.start("font", {"color": "x"})
    made.start("main", {})
    assert made.take() == b"<font>"
    assert LOGGED == [
        ("AH01419", "Deprecated HTML attribute color of font dropped"),
        ("AH01417", "Deprecated HTML element main dropped"),
    ]


def test_muted_tags_write_nothing() -> None:
    made = writer()
    assert made.muted(lambda: made.start("p", {})) == ["p"]
    assert (made.take(), made.open) == (b"", [])
