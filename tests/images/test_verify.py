"""`whimbrel verify` compares images of a machine: each side reads its own files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.machine_image import WRITTEN, run, write_image


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    return write_image(tmp_path / "a"), write_image(tmp_path / "b")


def compared(old: Path, new: Path, *words: str) -> tuple[int, str]:
    dialects = ("--old-dialect", "2.2", "--new-dialect", "2.2")
    return run("verify", old, new, *dialects, "--color", "never", *words)


def test_equal_images_are_the_same(sides: tuple[Path, Path]) -> None:
    code, output = compared(*sides)
    assert output.startswith("old (2.2) and new (2.2): same\n")
    assert "nobody gains and nobody loses" in output
    assert "not here" not in output and "is missing" not in output
    assert code == 0


def test_a_htaccess_file_that_opens_a_directory_is_found(sides: tuple[Path, Path]) -> None:
    (sides[1] / "srv/shop/closed/.htaccess").write_text("Order allow,deny\nAllow from all\n")
    _, output = compared(*sides)
    assert "nobody gains" not in output
    assert f"of the old text: below {sides[0]}" in output
    assert " srv/shop/closed/.htaccess:2: Deny from all" in output
    assert "http://shop.example.org/closed/" in output


def test_new_takes_what_only_it_lacks_from_old(sides: tuple[Path, Path]) -> None:
    old, new = sides
    shutil.rmtree(new / "var/www")
    shutil.rmtree(new / "srv")
    (new / "etc/httpd/conf/users").unlink()
    _, output = compared(old, new)
    documents, verdict = output.splitlines()[:2]
    assert (
        documents
        == f"documents: both sides read /var/www/html, /var/www/shop in {old}, the copy that has them"
    )
    assert verdict == "old (2.2) and new (2.2): same"
    assert "nobody gains and nobody loses" in output
    assert f"{old}/etc/httpd/conf/users was read in its place" in output


def test_a_document_that_was_removed_is_missed(sides: tuple[Path, Path]) -> None:
    (sides[1] / "var/www/html/closed/index.html").unlink()
    _, output = compared(*sides)
    assert output.startswith("old (2.2) and new (2.2): different\n") and "/closed/" in output


def test_no_other_program_answers_for_an_image(sides: tuple[Path, Path]) -> None:
    """It would read the places of the text on this machine."""
    _, output = compared(*sides, "--with-httpd", "/bin/false")
    assert f"it would read this machine, and not the image {sides[1]}" in output


def test_a_user_that_is_unknown_here_is_named_and_changes_no_answer(sides: tuple[Path, Path]) -> None:
    for side in sides:
        conf = side / "etc/httpd/conf/httpd.conf"
        conf.write_text("User nobody-of-this-machine\n" + conf.read_text())
    code, output = compared(*sides)
    first, second, _ = output.split("\n", 2)
    assert first.startswith("start: new (2.2) does not start here: ") and "nobody-of-this-machine" in first
    assert "old (2.2) and new (2.2): same\n" in output, second
    assert code == 0


def test_a_line_of_a_htaccess_file_that_24_refuses_is_the_cause_of_its_500(tmp_path: Path) -> None:
    old = write_image(tmp_path / "a")
    new = tmp_path / "b"
    run("upgrade", old, "--out", new, "--color", "never")
    shutil.copy(old / "var/www/html/closed/.htaccess", new / "var/www/html/closed/.htaccess")
    _, output = run("verify", old, new, "--color", "never")
    assert "status: old (2.2) 200, new (2.4) 500" in output
    assert "no line decides it: the versions differ in the status" not in output
    assert f"files: below {new}\n" in output
    assert " var/www/html/closed/.htaccess:1: Order deny,allow" in output, output
    assert "everybody who got it" in output


def touch_all(image: Path) -> None:
    """Give all files another time, as a copy without ``-p`` does."""
    for path in image.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (WRITTEN + 1000, WRITTEN + 1000))


def test_other_times_of_equal_documents_are_one_fact(sides: tuple[Path, Path]) -> None:
    touch_all(sides[1])
    code, output = compared(*sides)
    assert "documents with the same bytes have another time on disk (Last-Modified and ETag" in output
    assert output.startswith("old (2.2) and new (2.2): same\n")
    assert code == 0


def test_other_times_are_no_matter_of_an_upgrade(tmp_path: Path) -> None:
    closed = '<Files ".ht*">\nOrder allow,deny\nDeny from all\n</Files>\n'  # their text is another one
    old = write_image(tmp_path / "a", closed)
    run("upgrade", old, "--out", tmp_path / "b", "--color", "never")
    touch_all(tmp_path / "b")
    _, output = run("verify", old, tmp_path / "b", "--color", "never")
    assert "have another time on disk" in output and "last-modified: " not in output


def test_another_fileetag_and_another_text_are_found_beside_other_times(sides: tuple[Path, Path]) -> None:
    touch_all(sides[1])
    (sides[1] / "srv/shop/index.html").write_text("SHOP\n")
    main = sides[1] / "etc/httpd/conf/httpd.conf"
    main.write_text(main.read_text() + "<Location /closed>\nFileETag MTime\n</Location>\n")
    code, output = compared(*sides)
    assert code == 1
    assert ": FileETag MTime" in output and "        etag: " in output
    assert "GET http://shop.example.org/ " in output and "        body: " in output
