"""`whimbrel upgrade` changes or copies an image of a machine, and writes nothing outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.machine_image import run, write_image
from whimbrel.upgrade.apply import image_copy

CHANGED = ("etc/httpd/conf/httpd.conf", "srv/shop/closed/.htaccess", "var/www/html/closed/.htaccess")


def contents(top: Path) -> dict[str, bytes | str]:
    """Return the texts of files and the targets of links by their paths."""
    found: dict[str, bytes | str] = {}
    for where, below, names in os.walk(top):
        for path in (Path(where, name) for name in (*below, *names)):
            if path.is_symlink():
                found[str(path.relative_to(top))] = os.readlink(path)
            elif path.is_file():
                found[str(path.relative_to(top))] = path.read_bytes()
    return found


def test_write_and_undo_change_the_image_alone(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    before = contents(tmp_path)
    run("upgrade", "--write", "--no-verify", image)
    after = contents(tmp_path)
    changed = {name for name, text in before.items() if after[name] != text}
    assert changed == {f"a/{name}" for name in CHANGED}
    added = after.keys() - before.keys()
    assert added and all(name.startswith("a/") for name in added)  # the backups
    assert b"Require" in (image / CHANGED[1]).read_bytes()
    run("upgrade", "--undo", image)
    assert {name: text for name, text in contents(tmp_path).items() if name in before} == before


def test_out_is_an_image_with_the_documents(tmp_path: Path) -> None:
    image = write_image(tmp_path / "a")
    before = contents(image)
    out = tmp_path / "a24"
    _, written = run("upgrade", image, "--out", out)
    assert f"{out} is an image of the machine, as {image} is" in written and "not copied: " in written
    assert f"Next: whimbrel verify {image}/etc/httpd {out}/etc/httpd" in written
    assert contents(image) == before
    copy = contents(out)
    lost = {name for name in before if name not in copy}
    assert lost <= {"etc/httpd/logs", "var/log/httpd/error_log"}
    assert {name for name, text in before.items() if name not in lost and copy[name] != text} == set(CHANGED)
    assert 'ServerRoot "/etc/httpd"' in (out / "etc/httpd/conf/httpd.conf").read_text()
    for client, status in (("192.0.2.7", "200"), ("198.51.100.1", "403")):
        url = "http://shop.example.org/closed/a.html"
        _, output = run("explain", url, "-d", out, "--dialect", "2.4", "--from", client)
        assert output.startswith(status)
    _, output = run("verify", image, out, "--color", "never")
    assert "nobody gains and nobody loses" in output and "not here" not in output
    assert f"changed in {out}: srv/shop/closed/.htaccess" in written


def test_documents_beyond_the_bound_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = write_image(tmp_path / "a")
    out = tmp_path / "a24"
    monkeypatch.setattr(image_copy, "MAX_FILES", 12)
    _, output = run("upgrade", image, "--out", out, "--no-verify")
    assert f"cp -an {image}/var/www/. {out}/var/www/" in output
    assert not (out / "var/www/html/index.html").exists()
    assert "Require" in (out / "var/www/html/closed/.htaccess").read_text()
    assert (out / "srv/shop/index.html").is_file()
