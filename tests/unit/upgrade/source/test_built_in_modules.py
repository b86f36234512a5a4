"""The modules in the old binary: listed, configured, of a distribution, or assumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree, laid, lives

from whimbrel.base.builds import ANY, WINDOWS
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.files.needed_modules import needed_modules
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.source.built_in_modules import DEFAULT, as_its_build, configured, is_windows
from whimbrel.upgrade.source.reading import Sources, read_config_tree
from whimbrel.verify.loading import load_side

MAIN = "conf/httpd.conf"
PHP = "LoadModule php5_module modules/libphp5.so\n"

DLL = 'LoadModule php5_module "/usr/local/php5/php5apache2_2.dll"\n'


def test_one_foreign_line_does_not_make_the_default_modules_absent(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            MAIN: PHP
            + (
                "<IfModule mod_dir.c>\nDirectoryIndex a\n</IfModule>\n<IfModule mod_rewrite.c>\n"
                "RewriteEngine On\n</IfModule>\n"
            )
        },
    )
    assert found.built_in.assumed and found.built_in.modules == DEFAULT
    assert lives(found)["directoryindex"] == (True, None)
    assert lives(found)["rewriteengine"] == (False, False)
    new = upgrade(found).files[f"{tmp_path}/{MAIN}"].decode()
    assert {
        f"LoadModule {name}_module modules/mod_{name}.so" for name in ("dir", "mime", "autoindex")
    } <= set(new.split("\n"))
    assert "mod_rewrite.so" not in new


def test_a_line_of_the_default_build_shows_a_binary_without_it(tmp_path: Path) -> None:
    found = config_tree(tmp_path, {MAIN: PHP + "LoadModule alias_module modules/mod_alias.so\n"})
    assert not found.built_in.modules and not found.built_in.assumed
    assert "dir_module" not in [need.identifier for need in needed_modules(found)]


def test_the_configure_line_says_what_is_built_in(tmp_path: Path) -> None:
    laid(
        tmp_path,
        {
            "build/config.nice": (
                '"./configure" \\\n"--enable-rewrite" \\\n"--disable-userdir" \\\n'
                '"--enable-dir=shared" \\\n"$@"\n'
            )
        },
    )
    found = config_tree(tmp_path, {MAIN: "RewriteEngine On\n"})
    assert found.built_in.origin == "build/config.nice" and not found.built_in.assumed
    assert found.built_in.modules == (DEFAULT | {"rewrite_module"}) - {"userdir_module", "dir_module"}


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ('"--enable-mods-shared=all"', set()),
        ('"--enable-mods-shared=dir alias"', DEFAULT - {"dir_module", "alias_module"}),
        ("# --disable-dir", DEFAULT),
        ('"--enable-modules=rewrite"', DEFAULT | {"rewrite_module"}),
    ],
)
def test_configure_lines(text: str, modules: set[str]) -> None:
    assert configured(text) == modules


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("LoadModule php5_module /usr/lib/apache2/modules/libphp5.so\n", "Debian's packages"),
        ("# /etc/sysconfig/httpd has the options\n" + PHP, "Red Hat's packages"),
        ("ServerRoot /etc/httpd\n" + PHP, "Red Hat's packages"),
        (
            'ServerRoot "C:/Apache2"\n' + PHP,
            "mpm_winnt, read as a server on Windows, as httpd.conf:1 shows; --builtin FILE for another",
        ),
        (
            "LoadModule authz_core_module modules/mod_authz_core.so\n",
            "not asked: the text loads modules that only 2.4 has",
        ),
    ],
)
def test_other_origins(text: str, origin: str, tmp_path: Path) -> None:
    assert config_tree(tmp_path, {MAIN: text}).built_in.origin == origin


def test_a_list_counts_first(tmp_path: Path) -> None:
    laid(tmp_path, {MAIN: PHP})
    options = LoadOptions(server_root=str(tmp_path))
    found = read_config_tree(
        Sources(options=options, built_in=frozenset({"core.c", "mod_rewrite.c"})), UpgradeOptions()
    )
    assert found.built_in.modules == {"core_module", "rewrite_module"}


def test_windows_has_neither_prefork_nor_unixd(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path,
        {
            MAIN: (
                'ServerRoot "C:/xampp/apache"\r\nLoadModule dir_module modules/mod_dir.so\r\n'
                "ThreadsPerChild 250\r\n"
            )
        },
    )
    assert is_windows(found)
    assert [need.identifier for need in needed_modules(found)] == ["authz_core_module"]


def test_branches_of_other_mpms_are_inactive_on_windows(tmp_path: Path) -> None:
    user = (
        "<IfModule !mpm_netware_module>\n<IfModule !mpm_winnt_module>\nUser daemon\n"
        "</IfModule>\n</IfModule>\n"
    )
    found = config_tree(
        tmp_path, {MAIN: 'ServerRoot "C:/Apache2"\nLoadModule dir_module modules/mod_dir.so\n' + user}
    )
    assert [need.identifier for need in needed_modules(found)] == ["authz_core_module"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (DLL, True),
        ('DocumentRoot "C:/www"\n', True),
        ("ServerRoot /srv\n" + DLL, False),
        (f"<IfDefine WIN32>\n{DLL}</IfDefine>\n", False),
        ("LoadModule x_module modules/mod_x.so\n", False),
    ],
)
def test_a_path_or_library_shows_windows_where_no_root_does(
    text: str, expected: bool, tmp_path: Path
) -> None:
    found = config_tree(tmp_path, {MAIN: text})
    assert is_windows(found) == expected
    assert as_its_build(LoadOptions(server_root=str(tmp_path)), found.built_in).build == (
        WINDOWS if expected else ANY
    )


def test_a_listed_binary_decides_against_the_paths(tmp_path: Path) -> None:
    laid(tmp_path, {MAIN: DLL})
    options = LoadOptions(server_root=str(tmp_path), file=MAIN)
    for listed, expected in (("core.c prefork.c", ANY), ("core.c mpm_winnt.c", WINDOWS)):
        sources = Sources(options=options, built_in=frozenset(listed.split()))
        found = read_config_tree(sources, UpgradeOptions())
        assert is_windows(found) == (expected == WINDOWS)
        loaded = as_its_build(options, found.built_in)
        assert (loaded.build, loaded.is_unix) == (expected, expected != WINDOWS)


USES = (
    "Listen 80\nServerName a\n{}Header set X-A b\n"
    "<IfModule mod_deflate.c>\nDeflateCompressionLevel 9\n</IfModule>\n"
)


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        ("", {"headers_module"}),
        ("LoadModule headers_module modules/mod_headers.so\n", set()),
        ("<IfModule !mod_headers.c>\nLoadModule headers_module m/mod_headers.so\n</IfModule>\n", set()),
        ("LoadModule dir_module modules/mod_dir.so\n", set()),
        ("LoadModule rewrite_module modules/mod_rewrite.so\n", {"headers_module"}),
    ],
)
def test_a_server_that_ran_has_the_modules_of_its_directives(
    tmp_path: Path, loads: str, expected: set[str]
) -> None:
    """2.2 starts with a directive only if its module is there; a branch for a module shows nothing."""
    found = config_tree(tmp_path, {MAIN: USES.format(loads)})
    assert {name for name, _ in found.built_in.used} == expected
    assert expected <= found.built_in.modules and "deflate_module" not in found.built_in.modules
    items = [item for item in found.scope().items if item.kind is UnknownKind.ASSUMED]
    assert len(items) == len(expected) and not any(item.matters for item in items)
    if expected:
        side = load_side(LoadOptions(server_root=str(tmp_path), file=MAIN), "2.2")
        assert side.is_loaded and [item.kind for item in side.scope.items][-1] is UnknownKind.ASSUMED
        assert "mod_headers" in side.scope.items[-1].subject


def test_a_listed_binary_has_no_further_modules(tmp_path: Path) -> None:
    laid(tmp_path, {MAIN: USES.format("")})
    options = LoadOptions(server_root=str(tmp_path), file=MAIN)
    found = read_config_tree(Sources(options=options, built_in=frozenset({"core.c"})), UpgradeOptions())
    assert not found.built_in.used
