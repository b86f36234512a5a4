"""A .htaccess file alone as a site: its directory is served, at a URL path if need be."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from tests.performance.counting import count_calls

from whimbrel.api import ConfigurationError, Site, load

RULES = """RewriteEngine On
RewriteRule ^old/(.*)$ new/$1 [R=301,L]
RewriteRule ^forbidden - [F]
RewriteCond %{REQUEST_FILENAME} !-f
RewriteRule ^ front.html [L]
"""


def site_of(root: Path, text: str = RULES, *, name: str = ".htaccess", **more: str) -> Site:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    (root / "front.html").write_text("front\n")
    (root / "page.html").write_text("page\n")
    return load(root / name, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", ["2.4", "2.2"])
@pytest.mark.parametrize("at", ["/", "/shop/", "/deep/er"])
def test_rules_see_the_place_of_the_file(tmp_path: Path, dialect: str, at: str) -> None:
    site = site_of(tmp_path / "shop", f"RewriteBase {at}\n{RULES}", dialect=dialect, at=at)
    top = at.rstrip("/")
    moved = site.get(f"{top}/old/x")
    assert (moved.status, moved.location) == (301, f"http://localhost{top}/new/x")
    assert site.get(f"{top}/forbidden").status == 403
    assert site.get(f"{top}/page.html").body == b"page\n"
    assert site.get(f"{top}/nothing").body == b"front\n"


@pytest.mark.parametrize("dialect", ["2.4", "2.2"])
def test_a_file_of_another_name_is_read(tmp_path: Path, dialect: str) -> None:
    site = site_of(tmp_path, name="shop.htaccess", dialect=dialect)
    assert site.get("/forbidden").status == 403


def test_a_refused_line_is_the_cause_of_500(tmp_path: Path) -> None:
    explanation = site_of(tmp_path, "RewriteEngine On\nBogus on\n").explain("/page.html")
    assert explanation.answer.status == 500
    assert (explanation.lines[0].file, explanation.lines[0].line) == (str(tmp_path / ".htaccess"), 2)
    assert "Invalid command 'Bogus'" in str(explanation)


@pytest.mark.parametrize("data", [b"\x7fELF\0\0\x01", "Deny from all\n".encode("utf-16")])
def test_a_file_that_is_no_text_is_500(tmp_path: Path, data: bytes) -> None:
    site = site_of(tmp_path)
    (tmp_path / ".htaccess").write_bytes(data)
    assert site.get("/page.html").status == 500


@pytest.mark.parametrize("dialect", ["2.4", "2.2"])
@pytest.mark.parametrize("name", ["a b", "[id]", "a*?", "é", "a%b", "x'y"])
def test_the_directory_may_have_any_name(tmp_path: Path, name: str, dialect: str) -> None:
    for at in ("/", "/shop/"):
        site = site_of(tmp_path / name, dialect=dialect, at=at)
        assert site.get(f"{at}forbidden").status == 403
        assert site.get(f"{at}page.html").body == b"page\n"


@pytest.mark.parametrize("name", ['a"b', "a\nb", "${HOME}", "a\\b"])
def test_a_name_that_no_line_can_have_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot be written in a configuration"):
        site_of(tmp_path / name)


def test_the_temporary_server_goes_with_the_site(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    assert site.get("/page.html").status == 200
    root = site._named.holder.root  # type: ignore[union-attr]
    assert os.path.isdir(root)
    del site
    gc.collect()
    assert not os.path.exists(root)
    assert (tmp_path / "page.html").exists()


def test_hundreds_of_rules_are_read_once(tmp_path: Path) -> None:
    """Reading a rule costs the same in a long file as in a short one, and later requests read nothing."""

    def cost(count: int) -> tuple[Site, int]:
        rules = "".join(f"RewriteRule ^old/{n}$ /new/{n} [R=301,L]\n" for n in range(count))
        site = site_of(tmp_path / str(count), "RewriteEngine On\n" + rules)
        site.get("/page.html")  # other parts of the engine are made
        (tmp_path / str(count) / ".htaccess").write_text("RewriteEngine On\n" + rules + "# changed\n")
        return site, count_calls(lambda: site.get("/page.html").status)

    _, short = cost(50)
    site, long = cost(300)
    assert 5 < long / short < 7
    assert site.get("/old/299").location == "http://localhost/new/299"
    again = count_calls(lambda: site.get("/old/299").status)
    assert again < long / 10, "the file was read again"
    assert site.explain("/old/100").lines[0].line == 102
    assert len(str(site.explain("/old/100"))) < 10_000
