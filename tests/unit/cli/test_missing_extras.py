"""Optional packages that -t misses. Expected: the extras of pyproject.toml."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from whimbrel.catalogue.load import catalogue
from whimbrel.cli.httpd import run
from whimbrel.cli.missing_extras import EXTRAS, is_installed, missing_extras

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]


def test_every_row_is_an_extra_with_this_package() -> None:
    names = {"ldap": "python-ldap"}  # what is imported as ldap
    known = {row.identifier for row in catalogue("2.4").modules}
    for module, (extra, package) in EXTRAS.items():
        wanted = names.get(package, package)
        assert module in known
        assert any(line.startswith(wanted) for line in PROJECT["optional-dependencies"][extra]), module


def test_all_missing_packages_are_one_message() -> None:
    names = ("core_module", "ssl_module", "dir_module", "lua_module", "brotli_module")
    found = missing_extras(names, {"brotli"}.__contains__)
    assert found == "not installed here: packages of mod_ssl, mod_lua: pip install 'whimbrel[lua,tls]'"
    assert missing_extras(names, lambda _package: True) == ""


def test_installed_packages_are_found_without_an_import() -> None:
    assert is_installed("typer") and not is_installed("no_such_package")


def test_a_check_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").mkdir()
    loads = "".join(
        f"LoadModule {name}_module modules/mod_{name}.so\n" for name in ("mpm_event", "filter", "lua")
    )
    (tmp_path / "httpd.conf").write_text(f"{loads}ServerName a\nListen 127.0.0.1:8080\n")
    monkeypatch.setitem(EXTRAS, "lua_module", ("lua", "no_such_package"))
    assert run(["whimbrel-httpd", "-d", str(tmp_path), "-t"]) == 0
    assert capfd.readouterr().err == (
        "Syntax OK\nnot installed here: packages of mod_lua: pip install 'whimbrel[lua]'\n"
    )
