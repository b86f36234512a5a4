"""Places of paths in a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.config.copied_paths import CopiedPaths


@pytest.mark.parametrize(
    ("places", "path", "place"),
    [
        ((), "/etc/httpd/a", "/etc/httpd/a"),
        ((("/etc/httpd", "/c"),), "/etc/httpd/a", "/c/a"),
        ((("/etc/httpd", "/c"),), "/etc/httpd2/a", ""),
        ((("/etc/httpd", "/c"),), "/c/a", "/c/a"),
        ((("/c", "/c"),), "/etc/passwd", "/etc/passwd"),
        ((("/usr/local", "/c"), ("/usr/local/etc/apache24", "/c")), "/c/etc/apache24/a", "/c/a"),
        ((("/usr/local", "/c"), ("/usr/local/etc/apache24", "/c")), "/c/www", "/c/www"),
        ((("/etc/httpd", "/i/etc/httpd"), ("/", "/i")), "/srv/www", "/i/srv/www"),
        ((("/etc/httpd", "/i/etc/httpd"), ("/", "/i")), "/i/srv/www", "/i/srv/www"),
        ((("/etc/httpd", "/i/etc/httpd"), ("/", "/i")), "/image", "/i/image"),
        ((("/etc/httpd", "/c"),), "/dev/null", "/dev/null"),
    ],
)
def test_the_longest_directory_counts(places: tuple[tuple[str, str], ...], path: str, place: str) -> None:
    assert CopiedPaths("/c", places).place(path) == place


def test_server_root_names_the_place_of_the_copy() -> None:
    copied = CopiedPaths("/c", ())
    copied.declare_root("/etc/httpd/")
    assert (copied.place("/etc/httpd/a"), copied.place("/etc/other")) == ("/c/a", "")


def test_a_server_root_in_an_image_has_its_place() -> None:
    copied = CopiedPaths("/i/etc/apache2", (("/etc/apache2", "/i/etc/apache2"), ("/", "/i")))
    copied.declare_root("/var/www")
    assert copied.place("/etc/apache2/conf.d/a") == "/i/etc/apache2/conf.d/a"
    assert copied.place("/var/www/a") == "/i/var/www/a"


@pytest.fixture
def image(tmp_path: Path) -> CopiedPaths:
    """An image at a path that contains a ServerRoot; `links` has symbolic links."""
    top = tmp_path / "etc/httpd"
    (top / "etc/httpd/conf").mkdir(parents=True)
    (top / "srv/www/links").mkdir(parents=True)
    (top / "srv/www/page").write_text("")
    for name, target in {
        "absolute": "/srv/www/page",
        "relative": "../page",
        "above": "../../../../../../../../../srv/www/page",
        "own": f"{top}/srv/www/page",
        "device": "/dev/null",
        "directory": "/srv/www/",
        "loop": "/srv/www/links/loop",
        "nothing": "/etc/hostname",
    }.items():
        (top / "srv/www/links" / name).symlink_to(target)
    return CopiedPaths(f"{top}/etc/httpd", (("/etc/httpd", f"{top}/etc/httpd"), ("/", str(top))))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/srv/www/page", "/srv/www/page"),
        ("/srv/www/links/absolute", "/srv/www/page"),
        ("/srv/www/links/relative", "/srv/www/page"),
        ("/srv/www/links/above", "/srv/www/page"),
        ("/srv/www/links/own", "/srv/www/page"),
        ("/srv/www/links/directory/links/absolute", "/srv/www/page"),
        ("/srv/www/links/directory/", "/srv/www/"),
        ("/srv/www/links/nothing", "/etc/hostname"),
        ("/srv/www/links/loop", "/srv/www/links/loop"),
        ("/srv/www/links/../page", "/srv/www/page"),
        ("/", "/"),
    ],
)
def test_links_of_an_image_lead_from_the_image(image: CopiedPaths, path: str, text: str) -> None:
    place = image.on_disk(path)
    assert place == image.image + text
    assert image.on_disk(image.image + path) == place
    assert image.text_of(image.image + path) == path


def test_the_last_link_is_kept_on_request(image: CopiedPaths) -> None:
    kept = image.on_disk("/srv/www/links/directory/links/absolute", follow=False)
    assert kept == f"{image.image}/srv/www/links/absolute"
    assert image.on_disk("/srv/www/links/device") == "/dev/null"


def test_a_file_is_named_as_it_can_be_opened(image: CopiedPaths) -> None:
    links = f"{image.image}/srv/www/links"
    assert image.openable("/srv/www/links/relative") == f"{links}/relative"
    assert image.openable("/srv/www/links/own") == f"{links}/own"
    assert image.openable("/srv/www/links/absolute") == f"{image.image}/srv/www/page"


def test_a_directory_that_is_elsewhere_keeps_its_links(image: CopiedPaths, tmp_path: Path) -> None:
    other = tmp_path / "other/data"
    other.mkdir(parents=True)
    (other / "link").symlink_to("/srv/www/page")
    image.add("/data", str(other))
    assert image.on_disk("/data/link") == image.on_disk(f"{other}/link") == f"{image.image}/srv/www/page"
    assert image.on_disk("/data/link", follow=False) == f"{other}/link"


def test_users_are_those_of_the_image(image: CopiedPaths) -> None:
    assert image.homes() == []
    (Path(image.image) / "home/robin").mkdir(parents=True)
    assert (image.homes(), image.home("robin"), image.home("root")) == (
        [("robin", "/home/robin")],
        "/home/robin",
        None,
    )
    (Path(image.image) / "etc/passwd").write_text("anna:x:1:1::/people/anna:/bin/sh\n+::::::\nbroken\n")
    assert image.homes() == [("anna", "/people/anna")]
