"""Listings. Every expected line is recorded from httpd 2.4.71 for the same directory and options."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch, fetch_all
from tests.support.engine import build_engine

from whimbrel.modules.generators.mod_autoindex.page import size_text

OPEN = "<Directory @/htdocs>\nOptions Indexes FollowSymLinks\n{}\n</Directory>\n"
FILES = {
    "htdocs/d/a.html": "x" * 10,
    "htdocs/d/b.txt": "x" * 2000,
    "htdocs/d/c&d <x>.txt": "xxx",
    "htdocs/d/Zed:a": "x" * 9,
    "htdocs/d/E.png": "",
    "htdocs/d/averyveryverylongfilename.tar.gz": "x" * 1_500_000,
    "htdocs/d/sub/x.txt": "xxxx",
    "htdocs/d/f10.txt": "1",
    "htdocs/d/f9.txt": "2",
    "htdocs/d/t.html": "<html><head><TITLE>A &amp; title\n that is   very long and more than the "
    "width\n</title></head></html>",
    "htdocs/d/sub2/.htaccess": "Require all denied\n",
}
HEAD = (
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">\n<html>\n '
    "<head>\n  <title>Index of /d</title>\n"
    " </head>\n <body>\n<h1>Index of /d</h1>\n"
)


def listed(root: Path, conf: str = "", query: str = "", files: dict[str, str] | None = None) -> Reply:
    """Return the listing of /d/."""
    (reply,) = fetch_all(root, OPEN.format(conf), [f"/d/{query}"], {**FILES, **(files or {})})
    assert reply.status == 200
    return reply


def order(reply: Reply) -> list[str]:
    """Return the addresses of the lines."""
    return [part.partition('"')[0] for part in reply.body.split('href="')[1:] if not part.startswith("?")]


def test_list(tmp_path: Path) -> None:
    reply = listed(tmp_path)
    assert reply.get("Content-Type") == "text/html;charset=ISO-8859-1"
    assert reply.body == HEAD + (
        '<ul><li><a href="/"> Parent Directory</a></li>\n<li><a href="E.png"> E.png</a></li>\n<li><a '
        'href="./Zed:a"> Zed:a</a></li>\n'
        '<li><a href="a.html"> a.html</a></li>\n<li><a href="averyveryverylongfilename.tar.gz"> '
        "averyveryverylongfilename.tar.gz</a></li>\n"
        '<li><a href="b.txt"> b.txt</a></li>\n<li><a href="c&amp;d%20%3cx%3e.txt"> c&amp;d '
        "&lt;x&gt;.txt</a></li>\n"
        '<li><a href="f10.txt"> f10.txt</a></li>\n<li><a href="f9.txt"> f9.txt</a></li>\n<li><a '
        'href="sub/"> sub/</a></li>\n'
        '<li><a href="t.html"> t.html</a></li>\n</ul>\n</body></html>\n'
    )


@pytest.mark.parametrize(
    "line",
    [
        '<pre>      <a href="?C=N;O=D;F=1">Name</a>                    <a href="?C=M;O=A;F=1">Last '
        "modified</a>"
        '      <a href="?C=S;O=A;F=1">Size</a>'
        '  <a href="?C=D;O=A;F=1">Description</a><hr>      <a href="/">Parent Directory</a>                '
        "             -   \n",
        '      <a href="E.png">E.png</a>                   2020-09-13 12:26    0   \n',
        '      <a href="./Zed:a">Zed:a</a>                   2020-09-13 12:26    9   \n',
        '      <a href="averyveryverylongfilename.tar.gz">averyveryverylongfil..&gt;</a> 2020-09-13 12:26  '
        "1.4M  \n",
        '      <a href="b.txt">b.txt</a>                   2020-09-13 12:26  2.0K  \n',
        '      <a href="c&amp;d%20%3cx%3e.txt">c&amp;d &lt;x&gt;.txt</a>             2020-09-13 12:26    3 '
        "  \n",
        '      <a href="sub/">sub/</a>                    2020-09-13 12:26    -   \n',
        "<hr></pre>\n</body></html>\n",
    ],
)
def test_columns(tmp_path: Path, line: str) -> None:
    assert line in listed(tmp_path, query="?F=1").body


@pytest.mark.parametrize(
    "line",
    [
        '  <table>\n   <tr><th valign="top">&nbsp;</th><th><a href="?C=N;O=D;F=2">Name</a></th><th><a '
        'href="?C=M;O=A;F=2">Last modified</a></th>'
        '<th><a href="?C=S;O=A;F=2">Size</a></th><th><a href="?C=D;O=A;F=2">Description</a></th></tr>\n   '
        '<tr><th colspan="5"><hr></th></tr>\n',
        '<tr><td valign="top">&nbsp;</td><td><a href="/">Parent Directory</a>       </td><td>&nbsp;</td>'
        '<td align="right">  - </td><td>&nbsp;</td></tr>\n',
        '<tr><td valign="top">&nbsp;</td><td><a href="b.txt">b.txt</a>                  </td><td '
        'align="right">2020-09-13 12:26  </td>'
        '<td align="right">2.0K</td><td>&nbsp;</td></tr>\n',
        '   <tr><th colspan="5"><hr></th></tr>\n</table>\n</body></html>\n',
    ],
)
def test_table(tmp_path: Path, line: str) -> None:
    assert line in listed(tmp_path, query="?F=2").body


ICONS = (
    "IndexOptions FancyIndexing\nAddIcon /i/t.gif .txt\nAddIcon (TXT,/i/h.gif) .html\nDefaultIcon /i/u.gif\n"
    "AddIconByEncoding (CMP,/i/c.gif) x-gzip\n"
    'AddEncoding x-gzip .gz\nAddDescription "the <b>desc</b>" *.txt\nAddDescription "long description that '
    'goes beyond the width" a.html\n'
    "AddIcon /i/d.gif ^^DIRECTORY^^\nAddIcon /i/b.gif ^^BLANKICON^^\nAddAlt DD ^^DIRECTORY^^\nAddIcon "
    "/i/back.gif .."
)


@pytest.mark.parametrize(
    "line",
    [
        '<pre><img src="/i/b.gif" alt="Icon "> <a href="?C=N;O=D">Name</a>',
        '<img src="/i/back.gif" alt="[DD]"> <a href="/">Parent Directory</a>                             - '
        "  \n",
        '<img src="/i/u.gif" alt="[   ]"> <a href="E.png">',
        '<img src="/i/h.gif" alt="[TXT]"> <a href="a.html">a.html</a>                  2020-09-13 12:26   '
        "10   long description that >\n",
        '<img src="/i/c.gif" alt="[CMP]"> <a href="averyveryverylongfilename.tar.gz">',
        '<img src="/i/t.gif" alt="[   ]"> <a href="b.txt">b.txt</a>                   2020-09-13 12:26  '
        "2.0K  the <b>desc</b>\n",
        '<img src="/i/d.gif" alt="[DD]"> <a href="sub/">sub/</a>                    2020-09-13 12:26    -  '
        " \n",
    ],
)
def test_icons(tmp_path: Path, line: str) -> None:
    assert line in listed(tmp_path, ICONS).body


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "HTMLTable IconsAreLinks IconWidth=10 IconHeight SuppressSize NameWidth=* DescriptionWidth=* "
            "ScanHTMLTitles",
            '<tr><td valign="top"><a href="t.html"><img src="/i/u.gif" alt="[   ]" width="10" '
            'height="22"></a></td><td><a href="t.html">t.html</a></td>'
            '<td align="right">2020-09-13 12:26  </td><td>A &amp; title  that is   very long and more than '
            "the width </td></tr>\n",
        ),
        (
            "FancyIndexing IconsAreLinks IconWidth IconHeight=7 SuppressLastModified NameWidth=12 "
            "DescriptionWidth=30 ScanHTMLTitles SuppressRules",
            '<a href="t.html"><img src="/i/u.gif" alt="[   ]" width="20" height="7"></a> <a '
            'href="t.html">t.html</a>       100   '
            "A &amp; title  that is   very lon>\n",
        ),
        (
            "FancyIndexing SuppressIcon SuppressDescription SuppressColumnSorting UseOldDateFormat",
            '<pre>Name                    Last modified      Size  <hr><a href="/">Parent Directory</a>     '
            "                        -   \n"
            '<a href="E.png">E.png</a>                   13-Sep-2020 12:26    0   \n',
        ),
        ("FancyIndexing ShowForbidden", '[DIR]"> <a href="sub2/">'),
    ],
)
def test_options(tmp_path: Path, options: str, line: str) -> None:
    assert (
        line
        in listed(
            tmp_path, f"DefaultIcon /i/u.gif\nAddIcon /i/d.gif ^^DIRECTORY^^\nIndexOptions {options}"
        ).body
    )


@pytest.mark.parametrize(
    ("version", "options", "size"),
    [
        ("2.4", "IconHeight", ' height="22"'),
        ("2.4", "IconWidth=7", ' width="7"'),
        ("2.4", "IconWidth=7 IconHeight=0", ' width="7"'),
        ("2.2", "IconHeight", ""),
        ("2.2", "IconWidth=7 IconHeight", ' width="7" height="22"'),
    ],
)
def test_size_of_icons(tmp_path: Path, version: str, options: str, size: str) -> None:
    """Recorded from httpd 2.4.71, which writes each size by itself; 2.2 writes both or none."""
    conf = f"DefaultIcon /u.gif\nIndexOptions FancyIndexing {options}"
    (reply,) = fetch_all(tmp_path, OPEN.format(conf), ["/d/"], FILES, version)
    assert f'alt="[DIR]"{size}>' in reply.body


STYLED = 'IndexOptions HTMLTable {}\nIndexStyleSheet /a.css\nDefaultIcon /u.gif\nAddAlt "TXT & <x>" b.txt'


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            "",
            '  <table id="indexlist">\n   <tr class="indexhead"><th class="indexcolicon">&nbsp;</th>'
            '<th class="indexcolname"><a href="?C=N;O=D">Name</a></th>'
            '<th class="indexcollastmod"><a href="?C=M;O=A">Last modified</a></th>'
            '<th class="indexcolsize"><a href="?C=S;O=A">Size</a></th><th class="indexcoldesc">'
            '<a href="?C=D;O=A">Description</a></th></tr>\n'
            '   <tr class="indexbreakrow"><th colspan="5"><hr></th></tr>\n   <tr class="even"><td '
            'class="indexcolicon"><img src="/u.gif" alt="[   ]"></td><td class="indexcolname">'
            '<a href="/">Parent Directory</a>       </td>'
            '<td class="indexcollastmod">&nbsp;</td><td class="indexcolsize">'
            '  - </td><td class="indexcoldesc">&nbsp;</td></tr>\n',
        ),
        ("FancyIndexing AddAltClass", '<tr class="even-parentdir"><td class="indexcolicon"><img '),
        ("AddAltClass", '   <tr class="even"><td class="indexcolicon"><img src="/u.gif"'),
        ("AddAltClass", '-txt & <x>"><td class="indexcolicon"><img src="/u.gif" alt="[TXT & <x>]"></td>'),
    ],
)
def test_table_with_a_style_sheet(tmp_path: Path, options: str, line: str) -> None:
    assert line in listed(tmp_path, STYLED.format(options)).body


def test_style_sheet(tmp_path: Path) -> None:
    conf = (
        "IndexOptions FancyIndexing XHTML TrackModified Charset=utf-8 Type=text/foo\nIndexStyleSheet "
        '/a"b.css\nIndexHeadInsert "<meta>"'
    )
    reply = listed(tmp_path, conf)
    assert (reply.get("Content-Type"), reply.get("Last-Modified")) == (
        "text/foo;charset=utf-8",
        "Sun, 13 Sep 2020 12:26:40 GMT",
    )
    assert (
        '  <title>Index of /d</title>\n  <link rel="stylesheet" href="/a"b.css" type="text/css" />\n<meta> '
        "</head>\n <body>\n"
        '  <h1 id="indextitle">Index of /d</h1>\n'
    ) in reply.body


NAMES = [
    "E.png",
    "./Zed:a",
    "a.html",
    "averyveryverylongfilename.tar.gz",
    "b.txt",
    "c&amp;d%20%3cx%3e.txt",
    "f10.txt",
    "f9.txt",
    "sub/",
    "t.html",
]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", NAMES),
        ("?C=M;O=D", NAMES[::-1]),
        ("?C=X;O=D", NAMES),
        ("?P=*.txt", ["b.txt", "c&amp;d%20%3cx%3e.txt", "f10.txt", "f9.txt"]),
        (
            "?F=1;C=S;O=D",
            [
                "averyveryverylongfilename.tar.gz",
                "b.txt",
                "t.html",
                "a.html",
                "./Zed:a",
                "c&amp;d%20%3cx%3e.txt",
                "f9.txt",
                "f10.txt",
                "E.png",
                "sub/",
            ],
        ),
        ("?V=1&C=N&O=D", ["t.html", "sub/", "f10.txt", "f9.txt", *NAMES[5::-1]]),
    ],
)
def test_order(tmp_path: Path, query: str, names: list[str]) -> None:
    assert order(listed(tmp_path, query=query)) == ["/", *names]


def test_ignored(tmp_path: Path) -> None:
    reply = listed(tmp_path, "IndexIgnore *.txt sub E*\nIndexOptions FancyIndexing FoldersFirst")
    assert order(reply) == ["/", "./Zed:a", "a.html", "averyveryverylongfilename.tar.gz", "t.html"]
    conf = "IndexIgnore *.txt\n</Directory>\n<Directory @/htdocs/d>\nIndexIgnoreReset On\nIndexIgnore *.html"
    assert order(listed(tmp_path, conf)) == ["/", *(n for n in NAMES if not n.endswith(".html"))]


def test_header_and_readme(tmp_path: Path) -> None:
    files = {"htdocs/d/H.html": "<p>top</p>\n", "htdocs/d/R.txt": "read <me>\n"}
    reply = listed(tmp_path, "HeaderName H.html\nReadmeName R.txt", files=files)
    assert reply.get("Transfer-Encoding") == "chunked"
    assert "</head>\n <body>\n\r\n" in reply.body or "<body>\n<p>top</p>\n" in reply.body.replace("\r\n", "")
    plain = listed(tmp_path, "HeaderName R.txt\nReadmeName nosuch", files=files)
    assert " <body>\n<pre>\nread &lt;me&gt;\n</pre>\n<ul>" in plain.body
    assert plain.body.endswith("</ul>\n</body></html>\n")


def test_refused(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "", FILES)
    assert fetch(serving, "/d/").status == 403
    ((log,),) = serving.runtime.logs.values()
    assert (
        f"AH01276: Cannot serve directory {tmp_path}/htdocs/d/: No matching DirectoryIndex (index.html) "
        "found, and server-generated "
        "directory index forbidden by Options directive"
    ).encode() in log


def test_the_names_of_a_refusal_are_joined_without_blanks(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, "DirectoryIndex one.html two.html", FILES)
    assert fetch(serving, "/d/").status == 403
    ((log,),) = serving.runtime.logs.values()
    assert b"No matching DirectoryIndex (one.html,two.html) found" in log


def test_root_and_methods(tmp_path: Path) -> None:
    serving = build_engine(tmp_path, OPEN.format("IndexIgnore .??*"), FILES)
    assert fetch(serving, "/").body.endswith(
        '<h1>Index of /</h1>\n<ul><li><a href="d/"> d/</a></li>\n</ul>\n</body></html>\n'
    )
    assert fetch(serving, "/d/", method="POST", body="x").status == 404
    assert fetch(serving, "/d/", method="HEAD").get("Content-Type") == "text/html;charset=ISO-8859-1"


def test_old_look(tmp_path: Path) -> None:
    """2.2.34."""
    (reply,) = fetch_all(
        tmp_path, OPEN.format("IndexOptions FancyIndexing"), ["/d/"], {"htdocs/d/a.txt": "x" * 20480}, "2.2"
    )
    assert reply.body.startswith(
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 3.2 Final//EN">\n<html>\n <head>\n  <title>Index of '
        "/d</title>\n"
    )
    assert '<a href="a.txt">a.txt</a>                   13-Sep-2020 12:26   20K  \n' in reply.body


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (-1, "  - "),
        (0, "  0 "),
        (972, "972 "),
        (973, "1.0K"),
        (2000, "2.0K"),
        (20480, " 20K"),
        (1_500_000, "1.4M"),
    ],
)
def test_size(size: int, text: str) -> None:
    """Four characters (APR's apr_strfsize, as the listings show it)."""
    assert size_text(size) == text


def test_the_signature_stands_there_without_its_rule(tmp_path: Path) -> None:
    assert "</ul>\n<address>" in listed(tmp_path, "ServerSignature On").body


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.html", {"f.html", "p.html.de"}),
        ("l*", {"f.html", "l.txt", "p.html.de"}),
        ("?.txt", {"l.txt"}),
        ("l.t", {"l.txt"}),
        ("/d/f.html", set()),
        ("d/l.t", {"l.txt"}),
        ("htdocs/d/p.h", {"p.html.de"}),
    ],
)
def test_more_may_stand_around_the_pattern_of_a_description(
    tmp_path: Path, pattern: str, names: set[str]
) -> None:
    files = {f"htdocs/d/{name}": "x" for name in ("f.html", "l.txt", "p.html.de")}
    conf = f'IndexOptions FancyIndexing\nAddDescription "shown" "{pattern}"'
    (reply,) = fetch_all(tmp_path, OPEN.format(conf), ["/d/"], files)
    shown = {
        line.partition('href="')[2].partition('"')[0] for line in reply.body.split("\n") if "shown" in line
    }
    assert shown == names


@pytest.mark.parametrize(
    ("opening", "icon", "names"),
    [
        ("Location /d", "AddIconByType /i/y.gif text/*", set()),
        ("Location /", "AddIconByType /i/y.gif text/*", {"f.html"}),
        ('Directory "@/htdocs/d"', "AddIconByType /i/y.gif text/*", {"f.html"}),
        ("Location /d", "AddIcon /i/y.gif *", {"/", "sub/"}),
        ('Directory "@/htdocs/d"', "AddIcon /i/y.gif *", {"/", "sub/", "f.html", "x.png"}),
    ],
)
def test_an_icon_is_for_the_files_of_its_section(
    tmp_path: Path, opening: str, icon: str, names: set[str]
) -> None:
    """The path of a <Location> is compared with that of the file (recorded from httpd 2.4.71)."""
    files = {"htdocs/d/f.html": "x", "htdocs/d/x.png": "x", "htdocs/d/sub/a": "x"}
    conf = (
        OPEN.format("AddType text/html .html")
        + f"<{opening}>\nIndexOptions FancyIndexing\n{icon}\n</{opening.split()[0]}>\n"
    )
    (reply,) = fetch_all(tmp_path, conf, ["/d/"], files)
    with_icon = {
        line.rpartition('href="')[2].partition('"')[0] for line in reply.body.split("\n") if "y.gif" in line
    }
    assert with_icon == names
