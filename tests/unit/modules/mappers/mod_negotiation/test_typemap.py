"""Type maps. Messages and codes are those of httpd 2.4.71."""

from __future__ import annotations

import pytest

from whimbrel.modules.mappers.mod_negotiation.typemap import MapError, MapReader


def reader(text: str) -> MapReader:
    """Return a reader that has read *text*."""
    made = MapReader(text.encode(), "/x/m.var")
    made.read()
    return made


def test_variants() -> None:
    text = (
        "URI: m\n\n# comment\nURI: p.en.html\nContent-Type: text/html;level=3;qs=0.8\nContent-Language: en, "
        'FR\nDescription: "english"\n\n'
        "URI: x (c) y\nContent-Type: text/plain\n  ;qs=0.4\nContent-Length: 12\nContent-Encoding: x-gzip\n"
    )
    first, second = reader(text).variants
    assert (first.name, first.kind, first.source_quality, first.level) == ("p.en.html", "text/html", 0.8, 3.0)
    assert (first.languages, first.description) == (["en", "fr"], '"english"')
    assert (second.name, second.source_quality, second.size, second.encoding) == ("x", 0.4, 12, "x-gzip")


def test_bodies() -> None:
    first, second = reader(
        "Content-Type: text/plain\nBody:--e--\nhello\n--e--\n\nContent-Type: text/html\nBody: "
        "--f--\n\na\n--f--\n"
    ).variants
    assert (first.name, first.body, first.size) == ("m.var", b"hello\n", 6)
    assert second.body == b"\na\n"


def test_a_nul_ends_a_line() -> None:
    with pytest.raises(MapError, match=r"no ':' in /x/m.var for header ab$"):
        reader("AB\0URI: x\n\0: y\n")
    assert reader("\0bad\nURI: a\0b\nContent-Type: text/plain\n").variants[0].name == "a"


@pytest.mark.parametrize(
    ("tag", "text", "body"),
    [
        ("---", "hello---\n", b"hello"),
        ("---", "a\nhello--- cruft\n", b"a\nhello"),
        ("aab", "xaaab\n", b"xa"),
        (" (c) ", "abc\n", b""),
        ("---", "x" * 8188 + "---\n", b"x" * 8188),
    ],
)
def test_end_of_a_body(tag: str, text: str, body: bytes) -> None:
    found = reader(
        f"Content-Type: text/html\nBody:{tag}\n{text}\nURI: t\nContent-Type: text/plain\n"
    ).variants
    assert found[0].body == body


def test_body_that_is_too_long() -> None:
    with pytest.raises(MapError):
        reader("Content-Type: text/html\nBody:---\n" + "x" * 8189 + "---\n")


@pytest.mark.parametrize(
    ("text", "code", "words", "ends"),
    [
        (
            "Nonsense line\n",
            "AH00681",
            "Syntax error in type map, no ':' in /x/m.var for header nonsense line\n",
            False,
        ),
        ("URI:\n", "AH00682", "Syntax error in type map --- no header body: /x/m.var for uri:\n", False),
        (
            "URI: a\nContent-Length: 5x\n",
            "AH00684",
            "Parse error in type map, Content-Length: '5x' in /x/m.var is invalid.",
            True,
        ),
        (
            "Body:xx\nabc\n",
            "AH00685",
            "Syntax error in type map, no end tag 'xx' found in /x/m.var for Body: content.",
            True,
        ),
    ],
)
def test_errors(text: str, code: str, words: str, ends: bool) -> None:
    with pytest.raises(MapError) as caught:
        reader(text)
    assert (caught.value.code, caught.value.words, caught.value.ends) == (code, words, ends)
