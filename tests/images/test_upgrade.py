"""`whimbrel upgrade` changes or copies an image of a machine, and writes nothing outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.machine_image import run, write_image
from whimbrel.upgrade.apply import image_copy

CHANGED = ("etc/httpd/conf/httpd.conf", "srv/shop/closed/.htaccess", "var/www/html/closed/.htaccess")

KEYS = """\
ServerRoot "/opt/httpd"
Listen 80
LoadModule mime_module modules/mod_mime.so
CustomLog logs/access_log common
SSLCertificateFile conf/server.crt
SSLCertificateKeyFile conf/tls/server.key
AliasMatch ^/manual(/.*)?$ "/opt/httpd/manual$1"
"""
KEY = "-----BEGIN {}PRIVATE KEY-----\nAAAA\n"


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


def test_keys_and_logs_below_documents_stay_where_they_are(tmp_path: Path) -> None:
    """The sections and AliasMatch of an installation below one directory reach its conf and logs.

    A key that no line names is copied, but not for others: the mode of its file was for the old group.
    """
    image = tmp_path / "a"
    files = {
        "opt/httpd/conf/httpd.conf": KEYS,
        "opt/httpd/conf/tls/server.key": KEY.format("RSA "),
        "opt/httpd/conf/server.crt": "certificate",
        "opt/httpd/logs/access_log": "line",
        "opt/httpd/logs/access_log.1": "line",
        "opt/httpd/modules/mod_mime.so": "module",
        "opt/httpd/manual/index.html": "page",
        "opt/httpd/manual/old.pem": KEY.format(""),
    }
    for name, text in files.items():
        place = image / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(0o640)
    expected = ["opt/httpd/conf/httpd.conf", "opt/httpd/manual/index.html", "opt/httpd/manual/old.pem"]
    for more in ("", '<Directory "/opt/httpd">\n</Directory>\n'):
        (image / "opt/httpd/conf/httpd.conf").write_text(KEYS + more)
        out = tmp_path / f"out{len(more)}"
        _, written = run("upgrade", "-d", image / "opt/httpd", "--out", out, "--no-verify")
        assert "not copied: modules, logs, keys and certificates (2 files, such as " in written
        assert sorted(contents(out)) == expected
        copied = out / "opt/httpd/manual/old.pem"
        assert copied.stat().st_mode & 0o777 == 0o600
        assert f"the owner alone: 1 document with a private key, such as {image}" in written


def test_documents_beyond_the_bound_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = write_image(tmp_path / "a")
    out = tmp_path / "a24"
    monkeypatch.setattr(image_copy, "MAX_FILES", 12)
    _, output = run("upgrade", image, "--out", out, "--no-verify")
    assert f"cp -an {image}/var/www/. {out}/var/www/" in output
    assert not (out / "var/www/html/index.html").exists()
    assert "Require" in (out / "var/www/html/closed/.htaccess").read_text()
    assert (out / "srv/shop/index.html").is_file()
