"""Places of paths in a copy."""

from __future__ import annotations

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
