"""mod_mime. Every expected response is recorded from httpd 2.4.71 (2.2.34 where marked)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch_all
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError, StartError
from whimbrel.modules.http.mod_mime import MimeDirConfig, parse_name, read_types, with_charset
from whimbrel.registry.settings import with_defaults

ADDED = (
    "AddType TEXT/X-Foo .x\nAddType a/y Y\nAddHandler Foo y\nAddLanguage EN-us .en\nAddEncoding X-Gzip "
    "gz\nAddCharset UTF-8 .utf\n"
    "DefaultLanguage de"
)


@pytest.mark.parametrize(
    ("name", "kind", "language", "encoding"),
    [
        ("a.html", "text/html", "de", None),
        ("a.x", "text/x-foo", "de", None),
        ("a.x.y", "a/y", "de", None),
        ("a.y.x", "text/x-foo", "de", None),
        ("a.txt.x", "text/x-foo", "de", None),
        (".txt", None, "de", None),
        ("..x.txt", "text/plain", "de", None),
        ("a..txt", "text/plain", "de", None),
        ("a.HTML", "text/html", "de", None),
        ("a.en.html", "text/html", "en-us", None),
        ("a.html.en.gz", "text/html", "en-us", "x-gzip"),
        ("x.tar.gz", "application/x-tar", "de", "x-gzip"),
        ("html", None, "de", None),
        ("a.b.c", "text/x-c", "de", None),
        ("a.utf.html", "text/html; charset=utf-8", "de", None),
    ],
)
def test_extensions(tmp_path: Path, name: str, kind: str | None, language: str, encoding: str | None) -> None:
    (reply,) = fetch_all(tmp_path, ADDED, [f"/{name}"], {f"htdocs/{name}": "x"})
    assert (reply.get("Content-Type"), reply.get("Content-Language"), reply.get("Content-Encoding")) == (
        kind,
        language,
        encoding,
    )


def test_removed(tmp_path: Path) -> None:
    conf = (
        "RemoveType .txt\nAddType foo/bar .x\n<Directory @/htdocs/d>\nRemoveType .x .txt\nAddType a/b "
        ".x\n</Directory>"
    )
    files = {"htdocs/a.txt": "x", "htdocs/a.x": "x", "htdocs/d/a.txt": "x", "htdocs/d/a.x": "x"}
    replies = fetch_all(tmp_path, conf, ["/a.txt", "/a.x", "/d/a.txt", "/d/a.x"], files)
    assert [r.get("Content-Type") for r in replies] == [None, "foo/bar", None, "a/b"]


@pytest.mark.parametrize("added", ["AddEncoding x .x", "AddLanguage de .x", "AddCharset utf-8 .x"])
def test_removed_before_added(tmp_path: Path, added: str) -> None:
    name = added.split()[0].removeprefix("Add")
    conf = f"AddType a/b .x\n<Directory @/htdocs>\nRemove{name} .x\n{added}\n</Directory>"
    (reply,) = fetch_all(tmp_path, conf, ["/a.x"], {"htdocs/a.x": "x"})
    assert (reply.get("Content-Type"), reply.get(f"Content-{name}")) == ("a/b", None)


def test_removed_in_one_section(tmp_path: Path) -> None:
    (outside,) = fetch_all(tmp_path, "AddType foo/bar .x\nRemoveType .X", ["/a.x"], {"htdocs/a.x": "x"})
    assert outside.get("Content-Type") is None


@pytest.mark.parametrize(
    ("kind", "name", "want"),
    [
        (r'"foo/bar; charset=koi8;q=\"a b\"; z=1"', "a.x", 'foo/bar; charset=koi8; q="a b"; z=1'),
        (r'"foo/bar; charset=koi8;q=\"a b\"; z=1"', "a.x.y", 'foo/bar; charset=utf-8; q="a b"; z=1'),
        (r'"foo/bar; charset=koi8;q=\"a b\"; z=1"', "a.y.x", 'foo/bar; charset=utf-8; q="a b"; z=1'),
        ("nonsense", "a.x.y", "nonsense"),
        ('"a/b;"', "a.x", "a/b"),
        ('"a/b; x"', "a.x", "a/b"),
        ("foo/x;Charset=UTF-8", "a.x", "foo/x; charset=utf-8"),
    ],
)
def test_parameters(tmp_path: Path, kind: str, name: str, want: str) -> None:
    (reply,) = fetch_all(
        tmp_path, f"AddType {kind} .x\nAddCharset UTF-8 .y", [f"/{name}"], {f"htdocs/{name}": "x"}
    )
    assert reply.get("Content-Type") == want


def test_several(tmp_path: Path) -> None:
    conf = "AddEncoding a .x\nAddEncoding b .y\nAddLanguage fr .y\nAddLanguage en .x\nAddType foo/x .x"
    (reply,) = fetch_all(tmp_path, conf, ["/a.x.y"], {"htdocs/a.x.y": "x"})
    assert (reply.get("Content-Encoding"), reply.get("Content-Language")) == ("a, b", "en,fr")


def test_path_info(tmp_path: Path) -> None:
    conf = "<Directory @/htdocs>\nModMimeUsePathInfo On\nAcceptPathInfo On\nAddType foo/bar .x\n</Directory>"
    files = {"htdocs/a.x": "x", "htdocs/a.txt": "x", "htdocs/a.html": "x"}
    replies = fetch_all(tmp_path, conf, ["/a.x", "/a.x/foo.html", "/a.txt/q.x", "/a.html/q/"], files)
    assert [r.get("Content-Type") for r in replies] == ["foo/bar", "text/html", "foo/bar", None]


def test_handlers(tmp_path: Path) -> None:
    files = {"htdocs/a.x": "x", "htdocs/a.x.y": "x"}
    status, plain = fetch_all(
        tmp_path, "AddHandler server-status .x\nAddHandler nosuch .y", ["/a.x?auto", "/a.x.y"], files
    )
    assert status.get("Content-Type") == "text/plain; charset=ISO-8859-1"
    assert plain.body == "x"
    (fixed,) = fetch_all(tmp_path, "SetHandler default-handler\nAddHandler server-status .x", ["/a.x"], files)
    assert fixed.body == "x"


def test_leading_dots(tmp_path: Path) -> None:
    (reply,) = fetch_all(tmp_path, "", ["/.html"], {"htdocs/.html": "x"}, "2.2")
    assert reply.get("Content-Type") == "text/html"
    conf = with_defaults(MimeDirConfig())
    assert parse_name(".html", conf, {"html": "text/html"}).type is None
    assert parse_name(".a.html", conf, {"html": "text/html"}).others == (".a",)


def test_no_types_file(tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        build_engine(tmp_path, "TypesConfig nosuch")
    assert (
        caught.value.lines[0]
        == f"(2)No such file or directory: AH01597: could not open mime types config file {tmp_path}/nosuch."
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("MultiviewsMatch Any Filters", "Filters is incompatible with Any and NegotiatedOnly"),
        ("MultiviewsMatch NegotiatedOnly Handlers", "Handlers is incompatible with Any and NegotiatedOnly"),
        ("MultiviewsMatch Filters Any", "Any is incompatible with NegotiatedOnly, Filters and Handlers"),
        ("MultiviewsMatch 'x y'", "Unrecognized option 'x y'"),
        (
            "<Location /x>\nMultiviewsMatch Any\n</Location>",
            "MultiviewsMatch cannot occur within <Location> section",
        ),
        (
            "AddType text/html",
            "AddType requires at least two arguments, a mime type followed by one or more file extensions",
        ),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason == reason


def test_types_file() -> None:
    """Format of the shipped mime.types: comments, types without extensions, any case, the last line wins."""
    assert read_types("# c d\na/b\na/c X y\n\nd/e\ty\n") == {"x": "a/c", "y": "d/e"}


def test_no_media_type() -> None:
    assert with_charset("nonsense", "utf-8") is None
