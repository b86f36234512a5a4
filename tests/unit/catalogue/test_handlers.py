"""The table of handlers, compared with httpd's own modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.catalogue.handlers import handler_table, modules_of
from whimbrel.catalogue.load import catalogue

INSTALLED = Path("/usr/lib/apache2/modules")
SHARED = [
    (name, file)
    for name, files in handler_table("2.4").items()
    for file in files
    if (INSTALLED / f"{file}.so").exists()
]


@pytest.mark.skipif(not SHARED, reason="apache2 is not installed")
def test_httpds_modules_contain_their_names() -> None:
    """The file of a module contains the handler names it compares; a compiler may have inlined short ones.

    Handlers of our own begin with whimbrel-.
    """
    unknown = [
        (name, file)
        for name, file in SHARED
        if not name.startswith("whimbrel-")
        and name.rstrip("*").rstrip(":").rpartition("*")[2][-7:].encode()
        not in (INSTALLED / f"{file}.so").read_bytes()
    ]
    assert not unknown


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_patterns(version: str) -> None:
    every_version_of_php = ("libphp", "libphp7", "libphp5")
    assert modules_of("application/x-httpd-php", version) == every_version_of_php
    assert modules_of("application/x-httpd-php-source", version) == every_version_of_php
    assert modules_of("php5-script", version) == ("libphp5",)
    assert modules_of("php7-script", version) == ("libphp7",)
    assert modules_of("application/x-httpd-php5", version) == ("mod_suphp",)
    assert modules_of("proxy:unix:/run/php.sock|fcgi://localhost", version) == (
        ("mod_proxy_fcgi",) if version == "2.4" else ()
    )
    assert modules_of("text/plain", version) == modules_of("no-such-handler", version) == ()


def test_files_of_httpd_are_in_the_catalogue() -> None:
    known = {row.file for version in ("2.2", "2.4") for row in catalogue(version).modules}
    third = {
        "libphp",
        "libphp7",
        "libphp5",
        "mod_suphp",
        "mod_ruby",
        "mod_rivet",
        "mod_wsgi",
        "mod_fastcgi",
        "mod_fcgid",
        "mod_perl",
        "mod_python",
        "mod_mono",
        "mod_jk",
        "mod_scgi",
        "mod_uwsgi",
    }
    elsewhere = {"mod_isapi", "mod_example_hooks"}  # for Windows, for developers
    named = {
        file for version in ("2.2", "2.4") for files in handler_table(version).values() for file in files
    }
    assert named - known == third | elsewhere
