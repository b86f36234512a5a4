"""`whimbrel check` reads the files of an image of a machine, and no file of this one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.elf import elf
from tests.support.machine_image import run, write_image

OF_24 = (20120211, b"AP24")


def test_files_are_shown_where_they_can_be_opened(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    _, output = run("check", image, "--color", "never")
    assert output.count(f"; names of files begin at {image}\n") == 1
    for name in ("var/www/html/closed/.htaccess", "srv/shop/closed/.htaccess"):  # one behind a link
        assert f"\n{name}:1 " in output and (image / name).is_file()
    assert "not known: 0 that may matter" in output or "not known" not in output


def test_what_the_image_lacks_is_named_with_its_place(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    (image / "etc/httpd/conf/users").unlink()
    (image / "var/www/shop").unlink()
    shutil.rmtree(image / "srv/shop")
    _, output = run("check", image, "--color", "never")
    assert f"{image}/etc/httpd/conf/users is not in this copy" in output
    assert f"{image}/var/www/shop is not here: .htaccess files may be in it" in output


@pytest.mark.parametrize("is_image", [True, False])
def test_modules_of_this_machine_are_no_part_of_a_copy(tmp_path: Path, is_image: bool) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("libphp5.so", "libphp8.2.so"):
        (modules / name).write_bytes(elf(*OF_24, symbol=b"php_module"))
    line = f"LoadModule php5_module {modules}/libphp5.so\n"
    image = write_image(tmp_path / "a", line)
    if not is_image:
        (tmp_path / "part").mkdir()
        image = (image / "etc/httpd").rename(tmp_path / "part/copy")
    _, output = run("check", image, "--color", "never")
    assert "C06" in output and "libphp8.2.so" not in output


def test_the_first_of_two_main_files_is_read(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    other = image / "usr/local/apache2/conf/httpd.conf"
    other.parent.mkdir(parents=True)
    other.write_text(
        'ServerRoot "/usr/local/apache2"\nListen 8080\nDocumentRoot "/usr/local/apache2/htdocs"\n'
    )
    _, output = run("check", image, "--color", "never")
    assert f"input: whole server: {image}/etc/httpd/conf/httpd.conf" in output
    _, output = run("check", other, "--color", "never")
    assert f"input: whole server: {other}" in output
