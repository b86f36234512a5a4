"""Directives without behaviour: judged under -t, refused at a start, left out only where a reason is on the
list.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from whimbrel.base.dialect import V24
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.catalogue import catalogue
from whimbrel.catalogue.ignorable import ignorable_reason, ignorable_table
from whimbrel.config.configuration import Configuration
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.config.unimplemented import refuse_start
from whimbrel.registry.module import Module

CORE = (
    "LoadModule mpm_event_module m/mod_mpm_event.so\nLoadModule lua_module m/mod_lua.so\n"
    "LoadModule ssl_module m/mod_ssl.so\n"
)


def read(folder: Path, text: str) -> Configuration:
    """The configuration of CORE and *text*; only the core and an MPM have behaviour."""
    from whimbrel.modules import ALL

    own: dict[str, Module] = {name: ALL[name] for name in ("core", "mod_http", "mod_so", "mod_mpm_event")}
    (folder / "logs").mkdir()
    (folder / "httpd.conf").write_text(CORE + text)
    return load(
        LoadOptions(server_root=str(folder), file=str(folder / "httpd.conf"), check_only=True), own, V24
    )


def test_a_right_line_stops_a_start_with_one_message(tmp_path: Path) -> None:
    configuration = read(
        tmp_path, "LuaMapHandler /a /b.lua\n<IfModule mod_lua.c>\nLuaHookFixups /b.lua f\n</IfModule>\n"
    )
    with pytest.raises(StartError) as caught:
        refuse_start(configuration)
    (line,) = caught.value.lines
    assert f"{tmp_path}/httpd.conf:4: LuaMapHandler (mod_lua.c)" in line
    assert "LuaHookFixups" in line


def test_a_wrong_line_is_refused_in_the_modules_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, "LuaScope always\n")
    assert caught.value.reason.startswith("Invalid value for LuaScope, 'always', acceptable values are:")


def test_what_changes_no_answer_is_left_out_with_a_warning(tmp_path: Path) -> None:
    configuration = read(tmp_path, "LuaRoot /lua\nSSLEngine Off\n")
    before = len(configuration.messages)
    refuse_start(configuration)
    said = [message.text for message in configuration.messages[before:]]
    assert len(said) == 2 and "LuaRoot" in said[0] and "SSLEngine" in said[1]


def test_loading_a_module_alone_stops_nothing(tmp_path: Path) -> None:
    configuration = read(tmp_path, "")
    refuse_start(configuration)
    assert not configuration.unimplemented


@pytest.mark.parametrize(
    ("source", "name", "args"),
    [
        ("mod_ssl.c", "SSLEngine", "on"),
        ("mod_ssl.c", "SSLRequireSSL", ""),
        ("mod_ssl.c", "SSLRequire", "%{X} eq 1"),
        ("mod_ssl.c", "SSLVerifyClient", "require"),
        ("mod_proxy.c", "ProxyBlock", "*"),
        ("mod_proxy.c", "ProxyRequests", "On"),
        ("mod_cache.c", "CacheEnable", "disk /"),
        ("mod_userdir.c", "UserDir", "public_html"),
        ("mod_userdir.c", "UserDir", "disabled root"),
        ("mod_authnz_ldap.c", "AuthLDAPURL", "ldap://x"),
        ("mod_md.c", "MDRequireHttps", "temporary"),
    ],
)
def test_what_guards_or_answers_is_never_left_out(source: str, name: str, args: str) -> None:
    assert ignorable_reason(source, name, args) == ""


def test_a_reason_ends_with_the_behaviour_that_it_rests_on() -> None:
    assert ignorable_reason("mod_proxy_fcgi.c", "ProxyFCGIBackendType", "FPM") != ""
    assert ignorable_reason("mod_proxy_fcgi.c", "ProxyFCGIBackendType", "FPM", {"mod_proxy"}) == ""


def test_the_list_names_directives_that_exist() -> None:
    for source, lines in ignorable_table().items():
        rows = {
            row.name.lower() for version in ("2.2", "2.4") for row in catalogue(version).module_rows(source)
        }
        for line in lines:
            for pattern in line.names:
                assert any(fnmatchcase(name, pattern) for name in rows), (source, pattern)


@pytest.mark.parametrize("name", ["LuaHookLog", "LuaHookMapToStorage"])
def test_some_lines_can_be_left_out_of_htaccess_files_alone(name: str) -> None:
    assert ignorable_reason("mod_lua.c", name, "x.lua fn", in_htaccess=True) != ""
    assert ignorable_reason("mod_lua.c", name, "x.lua fn") == ""
