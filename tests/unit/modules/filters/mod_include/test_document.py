"""Documents with elements: responses of httpd 2.4.71 or, where marked, 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import engine as engines
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError

ERROR = "[an error occurred while processing this directive]"
CONF = """Options +Includes
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
"""


@pytest.fixture(autouse=True)
def _with_includes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        engines, "MODULES", {version: [*names, "include"] for version, names in engines.MODULES.items()}
    )


def shown(
    root: Path,
    text: str,
    *,
    conf: str = "",
    version: str = "2.4",
    path: str = "/p.shtml",
    files: dict[str, str] | None = None,
) -> Reply:
    """Return the response to *path* with p.shtml containing *text*."""
    serving = build_engine(
        root,
        f'<Directory "@/htdocs">\n{CONF}{conf}\n</Directory>',
        {"htdocs/p.shtml": text, **(files or {})},
        version,
    )
    return fetch(serving, path)


def body(reply: Reply) -> str:
    """Return the body without chunk framing."""
    assert reply.status == 200
    if reply.get("Transfer-Encoding") != "chunked":
        return reply.body
    out, rest = "", reply.body
    while rest:
        size, _, rest = rest.partition("\r\n")
        out, rest = out + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<!--#echo var="DOCUMENT_NAME"var="DOCUMENT_NAME" -->', "p.shtmlp.shtml"),
        ("<!--#echo var='DOCUMENT_NAME' --><!--#ECHO VAR=`DOCUMENT_NAME` -->", "p.shtmlp.shtml"),
        ('<!--#echo var="DOCUMENT_NAME"x-->', ERROR),
        ("<!--#echo var=DOCUMENT_NAME-->|", ERROR),
        ('<!--#echo -var="DOCUMENT_NAME" -->|', f"{ERROR}|"),
        ("<!--#echo var -->x", "x"),
        ('<!--#echo ="x" -->y', f"{ERROR}y"),
        ("<!-#<!--#-->", f"<!-#{ERROR}"),
        ('<!--#echovar="x" -->|<!--#echo var="NOPE" -->', f"{ERROR}|(none)"),
        ('<!--#config errmsg="E1" --><!--#config errmsg="$DOCUMENT_NAME" --><!--#oops -->', "p.shtml"),
        ('<!--#set var="A" value="${DOCUMENT_NAME" -->[<!--#echo var="A" -->]', "[]"),
        ('<!--#set var="A" value="a${DOCUMENT_NAME b" -->[<!--#echo var="A" -->]', "[a]"),
        ('<!--#set var="A" value="$12 $-x $$ $" --><!--#echo var="A" -->', " $-x $$ $"),
        ('<!--#set var="A" value="a${}b$" -->[<!--#echo var="A" -->]', "[a${}b$]"),
        ('<!--#set var="A" encoding="entity" value="<" --><!--#echo encoding="none" var="A" -->', "&lt;"),
        ('<!--#echo encoding="base64,url" var="DOCUMENT_NAME" -->', "cC5zaHRtbA=="),
        (
            '<!--#set var="A" value="&lt;&eacute;&#65;&nbsp;&bogus;&amp;amp;&#13;" --><!--#echo '
            'decoding="entity" encoding="none" var="A" -->',
            "<\xe9A&nbsp;&bogus;&amp;",
        ),
        ('<!--#echo decoding="base64" encoding="none" var="DOCUMENT_NAME" -->', ""),
        ('<!--#printenv x="y" -->', ERROR),
        ('<!--#comment any words --><!--#fsize file="inc.txt" -->', "  3 "),
    ],
)
def test_elements(tmp_path: Path, text: str, expected: str) -> None:
    assert body(shown(tmp_path, text, files={"htdocs/inc.txt": "inc"})) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<!--#if expr="false" -->a<!--#elif expr="$" -->b<!--#else -->c<!--#endif -->d', f"{ERROR}d"),
        ('<!--#if expr="false" -->a<!--#else x="y" -->b<!--#endif -->e', "e"),
        ('<!--#if expr="false" -->a<!--#if expr="true" --><!--#endif x="y" -->b<!--#endif -->f', "f"),
        ('<!--#if expr="false" -->a<!--#elif -->b<!--#else -->c<!--#endif -->g', f"{ERROR}g"),
        ("<!--#if expr -->a<!--#else -->b<!--#endif -->h", f"{ERROR}h"),
        ('<!--#if expr="false" --><!--#endif x="y" -->Q<!--#endif -->r', f"{ERROR}r"),
        ("x<!--#else -->y", "x"),
        (
            '<!--#if expr="v(\'DOCUMENT_NAME\') =~ /^(.)(.)/" --><!--#set var="Z" value="$0-$1" '
            '--><!--#echo var="Z" --><!--#endif -->',
            "p.-",
        ),
    ],
)
def test_branches(tmp_path: Path, text: str, expected: str) -> None:
    assert body(shown(tmp_path, text)) == expected


@pytest.mark.parametrize(("version", "expected"), [("2.4", f"0{ERROR}."), ("2.2", f"0{ERROR}T.")])
def test_a_condition_that_is_none(tmp_path: Path, version: str, expected: str) -> None:
    conf = "SSILegacyExprParser On" if version == "2.4" else ""
    text = '0<!--#if expr="$A =" -->T<!--#else -->F<!--#endif -->.'
    assert body(shown(tmp_path, text, conf=conf, version=version)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<!--#include virtual="nope" virtual="inc.txt" -->', ERROR),
        ('<!--#include virtual="nope" onerror="inc.txt" -->', "inc"),
        ('<!--#include virtual="inc.txt" onerror="inc.txt" -->', "inc"),
        ('<!--#include virtual="nope" onerror="nope" virtual="inc.txt" -->', ERROR),
        ('<!--#include virtual="a&amp;b.txt" -->|<!--#include file="../x" -->', f"amp|{ERROR}"),
        ('<!--#include virtual="in.shtml" -->|<!--#echo var="Q" -->', "p.shtml in|in"),
        ('<!--#exec cmd="echo x" -->', ERROR),  # no module that runs programs is loaded
    ],
)
def test_included(tmp_path: Path, text: str, expected: str) -> None:
    inner = '<!--#set var="Q" value="in" --><!--#echo var="DOCUMENT_NAME" --> <!--#echo var="Q" -->'
    files = {"htdocs/inc.txt": "inc", "htdocs/a&b.txt": "amp", "htdocs/in.shtml": inner}
    assert body(shown(tmp_path, text, files=files)) == expected


def test_a_document_that_includes_itself_ends(tmp_path: Path) -> None:
    assert body(shown(tmp_path, 'L<!--#include virtual="p.shtml" -->')) == "L" * 11 + ERROR


def test_fields(tmp_path: Path) -> None:
    made = shown(tmp_path, '<!--#echo var="DOCUMENT_NAME" -->')
    plain = shown(tmp_path, "plain text <!-")
    assert made.headers == [
        ("Accept-Ranges", "bytes"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Type", "text/html"),
    ]
    assert sorted(plain.headers) == [
        ("Accept-Ranges", "bytes"),
        ("Content-Length", "14"),
        ("Content-Type", "text/html"),
    ]
    kept = shown(tmp_path, '<!--#echo var="DOCUMENT_NAME" -->', conf="SSILastModified On\nSSIEtag On")
    assert (kept.get("Last-Modified"), kept.get("ETag")) == (
        "Sun, 13 Sep 2020 12:26:40 GMT",
        '"21-5af3107a40000"',
    )


def test_without_options_includes(tmp_path: Path) -> None:
    text = 'a<!--#echo var="DOCUMENT_NAME" -->'
    reply = shown(tmp_path, text, conf="Options -Includes")
    assert (reply.body, reply.get("ETag"), reply.get("Content-Length")) == (text, None, "34")
    assert reply.get("Last-Modified") == "Sun, 13 Sep 2020 12:26:40 GMT"


def test_a_changed_document_is_read_again(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path,
        f'<Directory "@/htdocs">\n{CONF}</Directory>',
        {"htdocs/p.shtml": '1<!--#echo var="DOCUMENT_NAME" -->'},
    )
    first = body(fetch(serving, "/p.shtml"))
    (tmp_path / "htdocs/p.shtml").write_text('2<!--#echo var="DOCUMENT_NAME" -->', encoding="latin-1")
    assert (first, body(fetch(serving, "/p.shtml"))) == ("1p.shtml", "2p.shtml")


@pytest.mark.parametrize("name", ["SSIStartTag", "SSIEndTag"])
def test_tags_have_no_blanks(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} may not contain any whitespaces$"):
        build_engine(tmp_path, f'{name} "a b"', {})


def test_a_host_with_one_tag_takes_none_of_the_main_server(tmp_path: Path) -> None:
    """mod_include has no merge of servers; recorded from httpd 2.4.71."""
    serving = build_engine(
        tmp_path,
        f'SSIStartTag "<%"\nSSIEndTag "%>"\n<VirtualHost *:80>\nSSIEndTag "%%"\n</VirtualHost>\n'
        f'<Directory "@/htdocs">\n{CONF}</Directory>',
        {"htdocs/p.shtml": '<%echo var="DOCUMENT_NAME"%> <!--#echo var="DOCUMENT_NAME"%%'},
    )
    assert body(fetch(serving, "/p.shtml")) == '<%echo var="DOCUMENT_NAME"%> p.shtml'
