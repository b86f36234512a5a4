"""mod_xml2enc: charsets of documents, the Content-Type, log lines; expected values are apache2's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.client import error_log, fetch
from tests.support.engine import build_engine
from tests.support.site import Site

from whimbrel.base.errors import ConfigError

LOAD = "LoadModule xml2enc_module modules/mod_xml2enc.so\n"
INCLUDE = "LoadModule include_module modules/mod_include.so\n"
ON = f"{LOAD}LogLevel debug\nSetOutputFilter xml2enc\n"
META = "<meta http-equiv=Content-Type content='text/html;charset={}'>"


@pytest.mark.parametrize(
    ("text", "conf", "body"),
    [
        ("caf\xe9", "", "caf\xc3\xa9"),
        ("\x80", "AddType text/html;charset=windows-1252 .html", "\xe2\x82\xac"),
        ("caf\xe9", "AddType text/html;charset=iso-8859-1 .html", "caf\xe9"),
        ("\xb1", "xml2EncDefault iso-8859-2", "\xc4\x85"),
        (f"a{META.format('utf-8')}b\xc3\xa9", "", "ab\xc3\xa9"),
        (f"a{META.format('windows-1252')}b\x80", "", "ab\xe2\x82\xac"),
        (f"a{META.format('klingon')}b\xe9", "", "ab\xe9"),
        ("x\x81y\x81z", "AddType text/html;charset=windows-1252 .html", "xyz"),
        ("x\xc4\xe3 ", "AddType text/html;charset=gb2312 .html", "x\xe4\xbd\xa0 "),
        (f"a\xc4{META.format('')}\xe3b", "AddType text/html;charset=gb2312 .html", "a\xe4\xbd\xa0b"),
        (f"junk{META.format('windows-1252')}<p>x", "xml2StartParse p", "junk<p>x"),
        (f"junk<p>a{META.format('windows-1252')}<p>x", "xml2StartParse p", "<p>a<p>x"),
        ("junk <P>x", "xml2StartParse p", "<P>x"),
        ("\xef\xbb\xbfx\xc3\xa9", "", "\xef\xbb\xbfx\xc3\xa9"),
    ],
)
def test_bodies(tmp_path: Path, text: str, conf: str, body: str) -> None:
    reply = fetch(build_engine(tmp_path, ON + conf, {"htdocs/p.html": text}), "/p.html")
    assert reply.body == body
    assert (reply.get("Content-Type") or "").replace(" ", "") == "text/html;charset=utf-8"


@pytest.mark.parametrize(
    ("media_type", "is_converted"),
    [
        ("text/plain", True),
        ("application/xml", True),
        ("application/xml;a=b", True),
        ("image/svg+xml", True),
        ("aa/b+xml", True),
        ("a/b+xml", False),
        ("application/notreallyxml", False),
        ("application/xml-dtd", False),
        ("foo/xml", False),
        ("application/x;y+xml", False),
        ("application/json", False),
    ],
)
def test_media_types(tmp_path: Path, media_type: str, is_converted: bool) -> None:
    conf = f"{ON}ForceType {media_type}\n"
    reply = fetch(build_engine(tmp_path, conf, {"htdocs/p": "caf\xe9"}), "/p")
    assert reply.body == ("caf\xc3\xa9" if is_converted else "caf\xe9")


@pytest.mark.parametrize(("count", "framing"), [(7989, "Content-Length"), (7990, "Transfer-Encoding")])
def test_8000_bytes_of_a_page_in_pieces_are_passed_on_whole(count: int, framing: str, tmp_path: Path) -> None:
    conf = f"{LOAD}{INCLUDE}Options +Includes\nSetOutputFilter INCLUDES;xml2enc\n"
    conf += "AddType text/html;charset=utf-8 .html\n"
    page = f"<{'x' * count}><!--#include virtual='a.txt'--> x</p>\n"
    reply = fetch(build_engine(tmp_path, conf, {"htdocs/p.html": page, "htdocs/a.txt": "a\n"}), "/p.html")
    assert reply.get(framing) is not None


@pytest.mark.parametrize(("count", "framing"), [(100, "Content-Length"), (8100, "Transfer-Encoding")])
def test_converted_pieces_of_a_page_are_gathered(count: int, framing: str, tmp_path: Path) -> None:
    conf = f"{LOAD}{INCLUDE}Options +Includes\nSetOutputFilter INCLUDES;xml2enc\nAddType text/html .html\n"
    page = '<!--#echo var="A" -->' + "x" * count
    assert fetch(build_engine(tmp_path, conf, {"htdocs/p.html": page}), "/p.html").get(framing) is not None


@pytest.mark.parametrize(
    ("text", "conf", "lines"),
    [
        ("x", "", ["AH01430", "AH01434", "AH01439", "AH01441"]),
        ("x", "AddType text/html;charset=utf-8 .html", ["AH01430", "AH01431"]),
        ("\xef\xbb\xbfx", "", ["AH01430", "AH01432"]),
        (META.format("utf-8"), "", ["AH01430", "AH01433"]),
        (META.format("klingon"), "", ["AH01430", "AH01434", "AH01435", "AH01436"]),
        (
            "x\x81y",
            "AddType text/html;charset=windows-1252 .html",
            ["AH01430", "AH01431", "AH01434", "AH01439", "AH01441", "AH01441", "AH01444"],
        ),
        ("x", "xml2StartParse p", ["AH01429", "AH01430", "AH01434", "AH01439", "AH01441"]),
    ],
)
def test_log_lines(tmp_path: Path, text: str, conf: str, lines: list[str]) -> None:
    engine = build_engine(tmp_path, ON + conf, {"htdocs/p.html": text})
    fetch(engine, "/p.html")
    assert sorted(re.findall(r"AH014(?:2[89]|3.|4.)", error_log(engine))) == lines


@pytest.mark.parametrize(
    ("charset", "text"),
    [
        ("windows-1252", "\x81x"),
        ("windows-1252", "x\x81"),
        ("windows-1252", "x\x81\x81y"),
        ("windows-1252", f"a\x81{META.format('')}b"),
        ("gb2312", "x\xa4\xff y"),
        ("gb2312", "x\xc4"),  # httpd's child dies
    ],
)
def test_a_document_that_fails(tmp_path: Path, charset: str, text: str) -> None:
    conf = f"{ON}AddType text/html;charset={charset} .html"
    assert fetch(build_engine(tmp_path, conf, {"htdocs/p.html": text}), "/p.html").status == 500


def test_other_types_pass(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, ON, {"htdocs/p.png": "\xe9"}), "/p.png")
    assert (reply.body, reply.get("Content-Type")) == ("\xe9", "image/png")


def test_a_large_file_is_converted_in_pieces(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, ON + "LogLevel warn", {"htdocs/p.txt": "\xe9" * 200_000})
    assert fetch(engine, "/p.txt").body.count("\xc3\xa9") == 200_000


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("xml2EncDefault klingon", "Invalid or unsupported default charset"),
        ("xml2EncDefault latin1", "Invalid or unsupported default charset"),
        (
            "<Directory />\nxml2EncAlias utf-8 x\n</Directory>",
            "xml2EncAlias not allowed in <Directory> context",
        ),
    ],
)
def test_messages(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Site(tmp_path, LOAD + line).load()
    assert caught.value.reason == message


def test_the_length_is_computed_anew(tmp_path: Path) -> None:
    """It so stands behind the fields of the handler, also where nothing is converted."""
    conf = f"{ON}AddType text/html;charset=utf-8 .html\n"
    reply = fetch(build_engine(tmp_path, conf, {"htdocs/p.html": "abc"}), "/p.html", "Range: bytes=1-2")
    names = [name for name, _ in reply.headers]
    assert (reply.status, reply.get("Content-Length")) == (206, "2")
    assert names.index("Content-Range") < names.index("Content-Length")
