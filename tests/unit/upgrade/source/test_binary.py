"""Modules in the 2.2 binary of a configuration that is loaded."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import laid

from whimbrel.base.dialect import V22, V24
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.source.binary import with_compiled_in
from whimbrel.verify.side import Side

DEBIAN = "# see /usr/share/doc/apache2.2-common and a2enmod\nListen 8080\nServerName a.example\n"
LOADED = 'LoadModule alias_module modules/mod_alias.so\nLogFormat "%h %I" x\nCustomLog logs/a x\n'


def options_of(root: Path, text: str) -> LoadOptions:
    laid(root, {"httpd.conf": text, "logs/.keep": "", "conf/mime.types": ""})
    return LoadOptions(server_root=str(root), file="httpd.conf")


def test_a_debian_binary_writes_logs_without_loadmodule(tmp_path: Path) -> None:
    side = Side.load(options_of(tmp_path, DEBIAN + LOADED), V22)
    assert not side.errors
    assert {"mod_log_config.c", "mod_logio.c", "mod_version.c"} <= side.loaded.built_in


def test_a_binary_of_shared_modules_has_none(tmp_path: Path) -> None:
    side = Side.load(options_of(tmp_path, "Listen 8080\nServerName a.example\n" + LOADED), V22)
    assert side.errors[0].text.splitlines()[1].startswith("Invalid command 'LogFormat'")


def test_a_text_without_loadmodule_runs_on_the_default_build(tmp_path: Path) -> None:
    text = "Listen 8080\nServerName a.example\nDirectoryIndex a.html\nAlias /x /srv/x\n"
    side = Side.load(options_of(tmp_path, text), V22)
    assert not side.errors
    assert {"mod_dir.c", "mod_alias.c", "mod_authz_host.c"} <= side.loaded.built_in


def test_a_module_may_be_loaded_and_compiled_in(tmp_path: Path) -> None:
    options = options_of(tmp_path, DEBIAN + "LoadModule version_module m/mod_version.so\n" + LOADED)
    assert not Side.load(options, V22).errors


def test_2_4_and_listed_modules_stay_as_they_are(tmp_path: Path) -> None:
    options = options_of(tmp_path, DEBIAN + LOADED)
    assert with_compiled_in(options, V24) is options
    known = with_compiled_in(options, V22)
    assert with_compiled_in(known, V22) is known


def test_edited_files_decide(tmp_path: Path) -> None:
    options = options_of(tmp_path, "Listen 8080\n")
    path = str((tmp_path / "httpd.conf").resolve())
    options = replace(options, overlay={path: (DEBIAN + LOADED).encode()})
    assert "mod_dir.c" not in (with_compiled_in(options, V22).compiled_in or ())
