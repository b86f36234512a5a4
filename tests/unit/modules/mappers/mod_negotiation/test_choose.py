"""mod_negotiation through an engine. Expected responses are those of httpd 2.4.71 to the same files."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

FILES = {
    f"htdocs/{name}": text
    for name, text in {
        "p.en.html": "EN\n",
        "p.fr.html": "FRANCAIS\n",
        "p.de.html": "DEUTSCH!!\n",
        "q.html": "QH\n",
        "q.txt": "QTXT\n",
        "q.png": "QGIF",
        "z.html": "ZH\n",
        "z.html.gz": "GZ",
        "n.html.en": "NHEN\n",
        "n.html": "NH\n",
        "c.utf8.html": "U8\n",
        "c.latin1.html": "L1\n",
        "k.html.unk": "K\n",
        "s.html": "ss",
        "s.zz": "s2",
        "l.ptbr.html": "ptbr",
        "l.fr.html": "fr",
        "l.en.html": "enn",
        "only.fr.txt": "OF\n",
        "rec.var": "URI: p\nContent-Type: text/html\n",
        "m.var": (
            "URI: p.en.html\nContent-Type: text/html;qs=0.8\nContent-Language: en\n\n"
            "URI: q.txt\nContent-Type: text/plain;qs=0.5\n"
        ),
        "b.var": "Content-Type: text/plain\nContent-Language: en\nBody:--e--\nhello english\n--e--\n",
    }.items()
}
CONF = """
LoadModule negotiation_module modules/mod_negotiation.so
<Directory "@/htdocs">
Options +MultiViews
AddHandler type-map .var
</Directory>
AddLanguage en .en
AddLanguage fr .fr
AddLanguage de .de
AddLanguage pt-br .ptbr
AddEncoding x-gzip .gz
AddCharset utf-8 .utf8
AddCharset iso-8859-1 .latin1
AddHandler some-handler .zz
"""


def negotiate(
    root: Path, path: str, *headers: str, conf: str = "", method: str = "GET", version: str = "2.4"
) -> Reply:
    """Return the response to one request."""
    return fetch(build_engine(root, CONF + conf, FILES, version), path, *headers, method=method)


@pytest.mark.parametrize(
    ("path", "header", "chosen"),
    [
        ("/p", "", "p.en.html"),
        ("/p", "Accept-Language: fr", "p.fr.html"),
        ("/p", "Accept-Language: de;q=0.5, fr;q=0.4", "p.de.html"),
        ("/p", "Accept-Language: fr-CA", "p.fr.html"),
        ("/p", "Accept-Language: en-US, de", "p.de.html"),
        ("/p", "Accept-Language: es, *;q=0.1", "p.en.html"),
        ("/p", "Accept-Language: fr;q=0, *", "p.en.html"),
        ("/p", "Accept-Language: FR", "p.fr.html"),
        ("/q", "", "q.html"),
        ("/q", "Accept: text/plain", "q.txt"),
        ("/q", "Accept: image/png, text/html;q=0.5", "q.png"),
        ("/q", "Accept: text/html;q=0.1, image/*", "q.png"),
        ("/z", "", "z.html"),
        ("/z", "Accept-Encoding: gzip", "z.html.gz"),
        ("/z", "Accept-Encoding: gzip;q=0", "z.html"),
        ("/z", "Accept-Encoding: *", "z.html.gz"),
        ("/c", "", "c.utf8.html"),
        ("/c", "Accept-Charset: iso-8859-1", "c.latin1.html"),
        ("/c", "Accept-Charset: koi8-r", "c.latin1.html"),
        ("/n", "", "n.html.en"),
        ("/n", "Accept-Language: fr", "n.html"),
    ],
)
def test_choices(path: str, header: str, chosen: str, tmp_path: Path) -> None:
    reply = negotiate(tmp_path, path, *([header] if header else []))
    assert (reply.status, reply.get("Content-Location"), reply.get("TCN")) == (200, chosen, "choice")


@pytest.mark.parametrize(
    ("path", "header", "status"),
    [
        ("/p", "Accept-Language: es", 406),
        ("/q", "Accept: text/html;level=1", 406),
        ("/q", "Accept: text/plain;q=0", 406),
        ("/k", "", 404),
        ("/p.html", "", 404),
        ("/nothing", "", 404),
        ("/p", "Negotiate: trans", 300),
        ("/p", "Negotiate: 1.0", 300),
        ("/p", "Negotiate:", 406),
        ("/rec.var", "", 506),
        ("/p/x", "", 404),
        ("/nope.var", "", 404),
    ],
)
def test_failures(path: str, header: str, status: int, tmp_path: Path) -> None:
    assert negotiate(tmp_path, path, *([header] if header else [])).status == status


def test_fields(tmp_path: Path) -> None:
    reply = negotiate(tmp_path, "/p", "Accept-Language: es")
    assert reply.get("Alternates") == (
        '{"p.de.html" 1 {type text/html} {language de} {length 10}}, '
        '{"p.en.html" 1 {type text/html} {language en} '
        '{length 3}}, {"p.fr.html" 1 {type text/html} {language fr} {length 9}}'
    )
    assert (reply.get("Vary"), reply.get("TCN")) == ("negotiate,accept-language", "list")
    assert '<li><a href="p.en.html">p.en.html</a> , type text/html, language en</li>\n' in reply.body
    assert negotiate(tmp_path, "/p").get("ETag") == '"3-5af3107a40000;5af3107a40000'


@pytest.mark.parametrize(
    ("conf", "path", "header", "text"),
    [
        ("LanguagePriority de fr en", "/p", "Accept-Language: *", "DEUTSCH!!\n"),
        ("LanguagePriority fr\nForceLanguagePriority Fallback", "/p", "Accept-Language: es", "FRANCAIS\n"),
        (
            "LanguagePriority fr de\nForceLanguagePriority Prefer Fallback",
            "/p",
            "Accept-Language: fr;q=0, *",
            "DEUTSCH!!\n",
        ),
        ("LanguagePriority pt fr", "/l", "X: y", "ptbr"),
        ("LanguagePriority pt-br-x fr", "/l", "X: y", "fr"),
        ("LanguagePriority EN", "/l", "X: y", "enn"),
        ("LanguagePriority de\nForceLanguagePriority Fallback", "/only", "Accept-Language: en", None),
        ("SetEnv prefer-language fr\nSetEnvIf X y prefer-language=fr", "/p", "X: y", "FRANCAIS\n"),
    ],
)
def test_priority(conf: str, path: str, header: str, text: str | None, tmp_path: Path) -> None:
    reply = negotiate(tmp_path, path, header, conf=conf)
    assert (reply.status, reply.body) == (200, text) if text else reply.status == 406


@pytest.mark.parametrize(("version", "text"), [("2.4", "DEUTSCH!!\n"), ("2.2", "EN\n")])
def test_case_of_priority(version: str, text: str, tmp_path: Path) -> None:
    conf = "LanguagePriority DE en"
    assert negotiate(tmp_path, "/p", "Accept-Language: *", conf=conf, version=version).body == text


def test_scripts_are_preferred_for_queries(tmp_path: Path) -> None:
    conf = '<Directory "@/htdocs">\nMultiviewsMatch Any\n</Directory>'
    assert [negotiate(tmp_path, path, conf=conf).body for path in ("/s", "/s?q", "/s?")] == ["ss", "s2", "s2"]


@pytest.mark.parametrize(
    ("header", "encoding"),
    [("Accept-Encoding: gzip", "gzip"), ("Accept-Encoding: x-gzip", "x-gzip"), ("X: y", "x-gzip")],
)
def test_encodings_are_named_as_asked(header: str, encoding: str, tmp_path: Path) -> None:
    assert negotiate(tmp_path, "/z.html.gz", header).get("Content-Encoding") == encoding


def test_maps(tmp_path: Path) -> None:
    first, plain = negotiate(tmp_path, "/m.var"), negotiate(tmp_path, "/m.var", "Accept: text/plain")
    assert (first.body, first.get("Content-Location"), first.get("Vary")) == (
        "EN\n",
        "p.en.html",
        "negotiate,accept,accept-language",
    )
    assert plain.body == "QTXT\n"
    assert first.get("ETag") == f'"3-5af3107a40000;{len(FILES["htdocs/m.var"]):x}-5af3107a40000'


def test_bodies_in_maps(tmp_path: Path) -> None:
    reply = negotiate(tmp_path, "/b.var")
    assert (reply.body, reply.get("Content-Type"), reply.get("Content-Language"), reply.get("TCN")) == (
        "hello english\n",
        "text/plain",
        "en",
        None,
    )
    assert negotiate(tmp_path, "/b.var", "Range: bytes=1-3").body == "ell"
    assert negotiate(tmp_path, "/b.var", method="PUT").status == 405


def test_a_folder_as_a_map_names_nothing(tmp_path: Path) -> None:
    """As in 2.4.71, a directory can be opened and is read as an empty map."""
    conf = "SetHandler type-map\n"
    assert negotiate(tmp_path, "/", conf=conf).status == 406


@pytest.mark.parametrize(
    ("version", "header", "conf", "expires"),
    [
        ("HTTP/1.0", "X: y", "", True),
        ("HTTP/1.0", "If-None-Match: *", "", True),
        ("HTTP/1.1", "X: y", "", False),
        ("HTTP/1.0", "X: y", "CacheNegotiatedDocs On", False),
    ],
)
def test_maps_are_not_cached_by_clients_of_http_1_0(
    version: str, header: str, conf: str, expires: bool, tmp_path: Path
) -> None:
    engine = build_engine(tmp_path, CONF + conf, FILES)
    client = TestClient(engine, Connection("127.0.0.1", 50000, "127.0.0.1", 80))
    data = client.send(f"GET /m.var {version}\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n".encode())
    assert (b"\r\nExpires: " in data) is expires


@pytest.mark.parametrize("path", ["/z", "/z/", "/z/loc/x"])
def test_sections_of_the_variants_url_apply(path: str, tmp_path: Path) -> None:
    """The sub-request for the variant takes the place of the request, with its path information."""
    conf = (
        "AcceptPathInfo On\n<Location /z/loc>\nHeader set X-In path\n</Location>\n"
        "<Location /z>\nHeader set X-In outer\n</Location>\n"
        "<Location /z.html>\nHeader set X-In variant\n</Location>\n"
    )
    reply = negotiate(tmp_path, path, conf=conf)
    assert (reply.status, reply.body, reply.get("X-In")) == (200, "ZH\n", "variant")
