"""Optional packages that -t misses. Expected: the extras of pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.errors import MissingPackage
from whimbrel.base.extras import EXTRAS, IMPORTS, pip
from whimbrel.catalogue.load import catalogue
from whimbrel.catalogue.third_party import products
from whimbrel.cli.httpd import run
from whimbrel.cli.missing_extras import EXTRA_BY_MODULE, is_installed, missing_extras


def test_every_row_is_a_module() -> None:
    third_party = {module.identifier for product in products() for module in product.modules}
    assert {row.identifier for row in catalogue("2.4").modules} | third_party >= EXTRA_BY_MODULE.keys()


def test_all_missing_packages_are_one_message() -> None:
    names = ("core_module", "ssl_module", "dir_module", "lua_module", "brotli_module")
    found = missing_extras(names, {"brotli"}.__contains__)
    sentence = "mod_ssl, mod_lua: the packages cryptography, lupa are not installed"
    assert found == f"{sentence}: {pip()} install 'whimbrel[lua,tls]'"
    assert missing_extras(names, lambda _package: True) == ""


def test_a_start_names_all_packages_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The first module that refuses, and all others whose packages are missing."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "httpd.conf").write_text("ServerName a\nListen 127.0.0.1:1\nUser #65534\n")
    for package in {EXTRAS[extra][0] for extra in EXTRA_BY_MODULE.values()}:
        monkeypatch.setitem(IMPORTS, package, "no_such_package")
    monkeypatch.setattr("whimbrel.modules.lua.mod_lua.find_spec", lambda _name: None)
    command = ["whimbrel-httpd", "-d", str(tmp_path), "-f", "httpd.conf", "--builtin", "all", "-X"]
    assert run(command) == 1
    extras = "acme,brotli,html,ldap,lua,proxy-http2,session-crypto,tls"
    (printed,) = capfd.readouterr().err.splitlines()
    assert printed.startswith("mod_")
    assert printed.endswith(f": {pip()} install 'whimbrel[{extras}]'")


@pytest.mark.parametrize(
    ("line", "names"),
    [("", ""), ("AuthnCacheSOCache shmcb\n", "shmcb"), ("AuthnCacheSOCache dbm:x\n", "dbm")],
)
def test_caches_count_where_a_directive_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], line: str, names: str
) -> None:
    """Distributions load all of them."""
    (tmp_path / "logs").mkdir()
    modules = ("mpm_event", "authn_core", "authn_socache", "socache_shmcb", "socache_dbm")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in modules)
    (tmp_path / "httpd.conf").write_text(f"{loads}ServerName a\nListen 127.0.0.1:8080\n{line}")
    monkeypatch.setitem(IMPORTS, "lmdb", "no_such_package")
    assert run(["whimbrel-httpd", "-d", str(tmp_path), "-f", "httpd.conf", "-t"]) == 0
    sentence = f"mod_socache_{names}: the package lmdb is not installed"
    expected = f"{sentence}: {pip()} install 'whimbrel[cache]'\n"
    assert capfd.readouterr().err == f"Syntax OK\n{expected if names else ''}"


def test_the_package_of_a_refusal_is_named() -> None:
    """Of a module that the table does not have, too."""
    refused = MissingPackage("mod_x", "watch")
    found = missing_extras(["core_module"], refused=refused)
    assert found == f"mod_x: the package watchfiles is not installed: {pip()} install 'whimbrel[watch]'"


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
    monkeypatch.setitem(IMPORTS, "lupa", "no_such_package")
    assert run(["whimbrel-httpd", "-d", str(tmp_path), "-t"]) == 0
    assert capfd.readouterr().err == (
        f"Syntax OK\nmod_lua: the package lupa is not installed: {pip()} install 'whimbrel[lua]'\n"
    )
