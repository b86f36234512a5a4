"""`whimbrel replay` answers logged requests with the files of an image of a machine."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.machine_image import WRITTEN, run, write_image


def line(client: str, path: str, status: int) -> str:
    return f'{client} - - [01/Mar/2026:10:00:00 +0000] "GET {path} HTTP/1.1" {status} 5\n'


def test_logged_statuses_are_those_of_the_image(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    new = write_image(tmp_path / "b")
    (new / "var/www/html/closed/.htaccess").write_text("Order allow,deny\nAllow from all\n")
    log = tmp_path / "log"
    log.write_text(
        line("192.0.2.7", "/closed/", 200)
        + line("198.51.100.1", "/closed/", 403)
        + line("198.51.100.1", "/~robin/", 200)
        + line("198.51.100.1", "/list/", 200)
        + line("198.51.100.1", "/none", 404)
    )
    words = ("-j", "1", "--host", "www.example.org")
    dialects = ("--old-dialect", "2.2", "--new-dialect", "2.2")
    _, output = run("replay", log, "--new", image, "--new-dialect", "2.2", *words)
    assert "0 of 5 requests get another status than was logged" in output
    assert "not here" not in output
    _, output = run("replay", log, "--old", image, "--new", new, *dialects, *words)
    assert "1 request: status 403 -> 200" in output
    assert "var/www/html/closed/.htaccess:2" in output, output


def test_other_times_of_equal_documents_change_nothing(tmp_path: Path) -> None:
    old, new = (write_image(tmp_path / name) for name in ("a", "b"))
    document = new / "var/www/html/list/a.html"
    os.utime(document, (WRITTEN + 1000, WRITTEN + 1000))
    log = tmp_path / "log"
    log.write_text(line("198.51.100.1", "/list/a.html", 200))
    dialects = ("--old-dialect", "2.2", "--new-dialect", "2.2")
    words = ("replay", log, "--old", old, "--new", new, *dialects, "-j", "1", "--host", "www.example.org")
    code, output = run(*words)
    assert "Nothing changes." in output and "last-modified" not in output
    assert "1 document with the same bytes has another time on disk" in output
    assert code == 0
    document.write_text("b\n")
    code, output = run(*words)
    assert "1 request: last-modified, etag, body" in output
    assert code == 1
