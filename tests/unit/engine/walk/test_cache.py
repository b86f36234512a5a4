"""Cached directory walks: an engine with cached walks responds like one without."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.unit.modules.access import Site

from whimbrel.engine.deps.files import Dependencies

MODULES = "mpm_event authz_core dir mime alias autoindex"
CONF = """
<Directory "@DOCROOT@">
    Require all granted
    {options}
    AllowOverride {override}
</Directory>
<Directory "@DOCROOT@/in">
    AcceptPathInfo On
</Directory>
<Directory "@DOCROOT@/in/f.html">
    ForceType text/x-one
</Directory>
<Directory "@DOCROOT@/*/g*">
    ForceType text/x-wild
</Directory>
<DirectoryMatch "h\\.html$">
    ForceType text/x-match
</DirectoryMatch>
<Files "i.html">
    Require all denied
</Files>
"""
PATHS = (
    "/f.html",
    "/in/f.html",
    "/in/g.html",
    "/in/h.html",
    "/in/i.html",
    "/in",
    "/in/",
    "/none",
    "/none/",
    "/none/at/all",
    "/in/none.html",
    "/in/f.html/",
    "/in/f.html/more/info",
    "/f.html/more",
    "/link.html",
    "/away/f.html",
    "/away/",
    "/away",
    "/in/link.html",
    "/in/dangling",
    "/dangling/more",
    "/in/deep/f.html",
    "/in/deep/more/f.html",
    "/in/deep/none/x",
    "/",
    "/in//f.html",
    "/in/./g.html",
    "/in/deep/../h.html",
)


def lay_out(root: Path) -> None:
    docs = root / "htdocs"
    for folder in ("in/deep/more", "../outside"):
        (docs / folder).mkdir(parents=True, exist_ok=True)
    for name in (
        "f.html",
        "in/f.html",
        "in/g.html",
        "in/h.html",
        "in/i.html",
        "in/deep/f.html",
        "in/deep/more/f.html",
        "../outside/f.html",
    ):
        (docs / name).write_text(f"{name}\n")
    (root / "conf").mkdir()
    (root / "conf/mime.types").write_text("text/html html\n")
    (docs / "in/deep/.htaccess").write_text("AddType text/x-deep .html\n")
    for name, target in (
        ("link.html", "f.html"),
        ("away", "../outside"),
        ("in/link.html", "../f.html"),
        ("in/dangling", "nowhere"),
        ("dangling", "nowhere"),
    ):
        os.symlink(target, docs / name)


def told(site: Site, path: str, query: str) -> tuple[str, list[str]]:
    """Return the response without the parts that depend on time and query, and the logged codes."""
    answer = site.ask(f"{path}?{query}")
    return re.sub(r"(Date|Last-Modified|ETag): [^\r]*\r\n", "", answer).replace(query, "QUERY"), site.codes()


@pytest.mark.parametrize("override", ["None", "All", "FileInfo"])
@pytest.mark.parametrize(
    "options",
    ["", "Options -FollowSymLinks", "Options SymLinksIfOwnerMatch", "Options FollowSymLinks Indexes"],
)
def test_an_engine_with_memories_answers_as_a_fresh_one(tmp_path: Path, options: str, override: str) -> None:
    lay_out(tmp_path)
    conf = CONF.format(options=options, override=override)
    familiar, numbers, chance = Site(tmp_path, conf, modules=MODULES), count(1000), random.Random(7)
    fresh = {path: told(Site(tmp_path, conf, modules=MODULES), path, "q0999") for path in PATHS}
    assert len({answer for answer, _ in fresh.values()}) > 8
    for _ in range(4):
        for path in chance.sample(PATHS, len(PATHS)):
            assert told(familiar, path, f"q{next(numbers)}") == fresh[path], path


def status(site: Site, path: str, numbers: count[int] = count()) -> int:  # noqa: B008
    """Return the status of a response that was not sent before."""
    return site.status(f"{path}?{next(numbers)}")


@pytest.fixture
def links_refused(tmp_path: Path) -> Site:
    lay_out(tmp_path)
    site = Site(tmp_path, CONF.format(options="Options -FollowSymLinks", override="All"), modules=MODULES)
    assert [status(site, "/in/deep/f.html") for _ in range(3)] == [200] * 3
    return site


def test_a_file_that_became_a_link_is_refused(links_refused: Site) -> None:
    page = links_refused.root / "htdocs/in/deep/f.html"
    page.unlink()
    page.symlink_to("../f.html")
    assert [status(links_refused, "/in/deep/f.html") for _ in range(2)] == [403, 403]


def test_a_folder_that_became_a_link_is_refused(links_refused: Site) -> None:
    (links_refused.root / "htdocs/in/deep").rename(links_refused.root / "elsewhere")
    (links_refused.root / "htdocs/in/deep").symlink_to(links_refused.root / "elsewhere")
    assert status(links_refused, "/in/deep/f.html") == 403
    assert status(links_refused, "/in/deep/none.html") == 403


def test_a_folder_that_is_gone_is_not_found(links_refused: Site) -> None:
    (links_refused.root / "htdocs/in/deep").rename(links_refused.root / "elsewhere")
    assert status(links_refused, "/in/deep/f.html") == 404
    (links_refused.root / "elsewhere").rename(links_refused.root / "htdocs/in/deep")
    assert status(links_refused, "/in/deep/f.html") == 200


def test_htaccess_files_that_come_change_and_go_are_seen(links_refused: Site) -> None:
    upper, lower = (links_refused.root / "htdocs" / name / ".htaccess" for name in ("in", "in/deep"))
    upper.write_text("Require all denied\n")
    assert [
        status(links_refused, "/in/deep/f.html"),
        status(links_refused, "/in/deep/none"),
        status(links_refused, "/f.html"),
    ] == [403, 403, 200]
    upper.write_text("Require all granted\n")
    assert status(links_refused, "/in/deep/f.html") == 200
    lower.write_text("Require all denied\n")
    assert status(links_refused, "/in/deep/f.html") == 403
    lower.unlink()
    assert status(links_refused, "/in/deep/f.html") == 200
    lower.mkdir()  # no file, but there
    assert status(links_refused, "/in/deep/f.html") == 403


def test_a_known_way_asks_the_file_system_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path)
    site = Site(
        tmp_path,
        "<Directory />\nAllowOverride None\n</Directory>\n" + CONF.format(options="", override="None"),
        modules=MODULES,
    )
    assert [status(site, path) for path in ("/in/h.html", "/in/h.html", "/in/none")] == [200, 200, 404]
    asked: list[str] = []

    def counted(
        real: Callable[[Dependencies, str], os.stat_result | None],
    ) -> Callable[[Dependencies, str], os.stat_result | None]:
        def ask(view: Dependencies, path: str) -> os.stat_result | None:
            asked.append(path.removeprefix(f"{tmp_path}/htdocs"))
            return real(view, path)

        return ask

    for name in ("stat", "lstat"):
        monkeypatch.setattr(Dependencies, name, counted(getattr(Dependencies, name)))
    assert status(site, "/in/h.html") == 200
    assert asked == ["/in/h.html"]
    asked.clear()
    assert status(site, "/in/none/at/all") == 404
    assert asked == ["/in/none", "/in/"]
