"""Servers on Windows: what shows them, and what their builds have in place of a Unix MPM."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import laid

from whimbrel.base.builds import ANY, WINDOWS
from whimbrel.config.options import LoadOptions
from whimbrel.config.windows import is_windows_library, is_windows_path
from whimbrel.verify.loading import load_side

UNIX = "<IfModule !mpm_netware_module>\n<IfModule !mpm_winnt_module>\nUser daemon\n</IfModule>\n</IfModule>\n"
THREADS = "<IfModule mpm_winnt.c>\nThreadsPerChild 250\nMaxRequestsPerChild 0\n</IfModule>\n"
DOCUMENTS = 'DocumentRoot "C:/www"\n'
DLL = 'LoadModule php5_module "/usr/local/php5/php5apache2_2.dll"\n'


def options_of(root: Path, text: str, build: str = ANY) -> LoadOptions:
    laid(root, {"httpd.conf": text, "conf/vhosts.conf": DOCUMENTS, "logs/.keep": ""})
    return LoadOptions(server_root=str(root), file="httpd.conf", build=build)


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
@pytest.mark.parametrize(
    "text",
    [
        'ServerRoot "C:/Apache2"\n',
        DOCUMENTS,
        "Include conf/vhosts.conf\n",
        DLL,
        "<Directory 'C:/x'>\n</Directory>\n",
    ],
)
def test_a_text_of_windows_has_its_mpm_under_both_versions(text: str, dialect: str, tmp_path: Path) -> None:
    text = text.replace("'", '"') + "Listen 8080\nServerName a.example\n" + THREADS + UNIX
    side = load_side(options_of(tmp_path, text), dialect)
    assert not side.errors
    assert side.loaded.build.name == WINDOWS
    assert "mpm_winnt.c" in side.loaded.modules and "prefork.c" not in side.loaded.modules


@pytest.mark.parametrize(
    ("text", "build"),
    [('ServerRoot "/srv/web"\n' + DOCUMENTS, ANY), ("DocumentRoot htdocs\n", ANY), (DOCUMENTS, "shared")],
)
def test_another_root_or_a_named_build_decides(text: str, build: str, tmp_path: Path) -> None:
    side = load_side(options_of(tmp_path, "Listen 8080\n" + text + UNIX, build), "2.4")
    assert side.errors  # no MPM is loaded, or User is of mod_unixd


def test_windows_itself_says_what_it_does_not_find(tmp_path: Path) -> None:
    line = "LoadModule authn_default_module modules/mod_authn_default.so\n"
    side = load_side(options_of(tmp_path, 'ServerRoot "C:/Apache2"\n' + line), "2.4")
    expected = (
        "Cannot load modules/mod_authn_default.so into server: The specified module could not be found."
    )
    assert expected in side.errors[0].text


def test_paths() -> None:
    assert is_windows_path("C:/www") and is_windows_path("z:\\www")
    assert not any(map(is_windows_path, ("/c:/www", "C:www", "1:/www", "www")))
    assert is_windows_library("E:/php\\PHP5apache2_2.DLL") and not is_windows_library("modules/mod_dll.so")
