"""Builds: compiled-in modules and default paths. Expected values: `-l` and `-V` of Debian's apache2 2.4.71,
of ./configure without options, and the recordings of 2.2.34.
"""

from __future__ import annotations

import pytest

from whimbrel.base.builds import NAMES, Build
from whimbrel.catalogue.load import catalogue


def test_debian() -> None:
    build = Build("debian", "2.4")
    assert " ".join(build.sources) == (
        "core.c mod_so.c mod_watchdog.c http_core.c mod_log_config.c mod_logio.c mod_version.c mod_unixd.c"
    )
    assert (build.root, build.file, build.pid_file, build.error_log, build.types_file) == (
        "/etc/apache2",
        "apache2.conf",
        "/run/apache2.pid",
        "logs/error_log",
        "mime.types",
    )
    assert (build.document_root, build.run_directory) == ("/var/www/html", "/var/run/apache2")


def test_upstream() -> None:
    build = Build("upstream", "2.4")
    assert build.sources == ("core.c", "mod_so.c", "http_core.c", "event.c")
    assert (build.file, build.pid_file) == ("conf/httpd.conf", "logs/httpd.pid")
    assert build.document_root == f"{build.root}/htdocs"


def test_recorded_22() -> None:
    build = Build("debian", "2.2")
    assert build.sources == ("core.c", "prefork.c", "http_core.c", "mod_so.c")
    assert (build.file, build.pid_file) == ("conf/httpd.conf", "logs/httpd.pid")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
def test_every_source_has_a_module(version: str) -> None:
    known = {row.source for row in catalogue(version).modules}
    assert all(known.issuperset(Build(name, version).sources) for name in NAMES)
