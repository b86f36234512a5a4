"""mod_imagemap. Every expected response is recorded from httpd 2.4.71 with the same map."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import ask, engine

from whimbrel.modules.mappers.mod_imagemap import clicked, in_circle, in_poly, in_rect

FILES = {
    "htdocs/m.map": '#comment\ndefault /def.html\nrect /rect.html 0,0 10,10 "Rect"\ncircle http://c.test/ '
    "50,50 60,50\npoly poly.html 100,100 "
    "120,100 110,120\npoint /pt1 200,200\npoint /pt2 300,300\nbase_uri http://base.test/dir/\nrect "
    "rel/x.html 400,400 410,410\n"
    "rect ../up.html 420,420 430,430\n",
    "htdocs/menu.map": '<h1>Menu</h1>\nrect /one 0,0 5,5 "One"\n',
    "htdocs/nod.map": "rect /r 0,0 5,5\n",
    "htdocs/kw.map": "default nocontent\nrect error 0,0 5,5\nrect menu 6,6 9,9\nrect referer 10,10 15,15\n",
}
LOAD = "LoadModule imagemap_module modules/mod_imagemap.so\nAddHandler imap-file map\n"


@pytest.mark.parametrize(
    ("path", "status", "location"),
    [
        ("/m.map?5,5", 302, "http://localhost/rect.html"),
        ("/m.map?52,51", 302, "http://c.test/"),
        ("/m.map?110,105", 302, "http://localhost/poly.html"),
        ("/m.map?205,205", 302, "http://base.test/pt1"),
        ("/m.map?290,290", 302, "http://base.test/pt2"),
        ("/m.map?405,405", 302, "http://base.test/dir/rel/x.html"),
        ("/m.map?-1,5", 302, "http://localhost/rect.html"),
        ("/nod.map?99,99", 204, None),
        ("/menu.map?3,3", 500, None),
        ("/kw.map?3,3", 500, None),
        ("/kw.map?7,7", 302, "http://localhost/kw.map"),
        ("/kw.map?12,12", 302, "http://localhost/"),
        ("/kw.map?90,90", 204, None),
    ],
)
def test_clicks(path: str, status: int, location: str | None, tmp_path: Path) -> None:
    reply = ask(engine(tmp_path, LOAD, FILES), path)
    assert (reply.status, reply.get("Location")) == (status, location)


@pytest.mark.parametrize(
    ("menu", "rest"),
    [
        (
            "formatted",
            "<h1>Menu for /nod.map</h1>\n<hr />\n\n<pre>          <a "
            'href="http://localhost/r">/r</a></pre>\n\n\n</body>\n</html>\n',
        ),
        ("semiformatted", '<pre>          <a href="http://localhost/r">/r</a></pre>\n\n\n</body>\n</html>\n'),
    ],
)
def test_menus(menu: str, rest: str, tmp_path: Path) -> None:
    reply = ask(engine(tmp_path, LOAD + f"ImapMenu {menu}", FILES), "/nod.map")
    assert reply.body.partition("</head><body>\n")[2] == rest
    assert reply.get("Content-Type") == "text/html; charset=ISO-8859-1"


def test_a_broken_menu(tmp_path: Path) -> None:
    body = ask(engine(tmp_path, LOAD, FILES), "/menu.map").body
    assert body.endswith("<hr />\n\n\n\n[an internal server error occured]\n\n\n</body>\n</html>\n")


def test_no_menu(tmp_path: Path) -> None:
    assert ask(engine(tmp_path, LOAD + "ImapMenu none", FILES), "/nod.map").status == 204


@pytest.mark.parametrize(
    ("query", "point"),
    [
        ("5,6", (5, 6)),
        ("x5,6", (5, 6)),
        ("0,0", None),
        ("1", None),
        (None, None),
        ("x", None),
        ("1.5,2", (1.5, 2)),
    ],
)
def test_clicked(query: str | None, point: tuple[float, float] | None) -> None:
    assert clicked(query) == point


def test_shapes() -> None:
    assert in_rect((10, 10), [(10, 10), (0, 0)])
    assert not in_rect((11, 5), [(0, 0), (10, 10)])
    assert in_circle((60, 50), [(50, 50), (60, 50)])
    assert not in_circle((58, 58), [(50, 50), (60, 50)])
    triangle = [(100.0, 100.0), (120.0, 100.0), (110.0, 120.0)]
    assert [in_poly(p, triangle) for p in ((110, 105), (100, 100), (101, 119), (110, 121))] == [
        True,
        True,
        False,
        False,
    ]
