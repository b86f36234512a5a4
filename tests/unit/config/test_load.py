"""Modules, execution, contexts, what is without behaviour.  Expected texts are the servers' own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.base.dialect import V22
from whimbrel.base.errors import StartError
from whimbrel.config.core_config import OPT_INDEXES, OPT_SYM_LINKS, CoreDirConfig, CoreServerConfig
from whimbrel.config.model import confs
from whimbrel.config.options import LoadOptions
from whimbrel.verify.loading import load_side

HEAD = "apache2: Syntax error on line 1 of @/conf/httpd.conf: "

LOADING: list[tuple[str, str]] = [
    (
        "LoadModule x_module /m/mod_x.so",
        HEAD
        + (
            "Cannot load /m/mod_x.so into server: /m/mod_x.so: cannot open shared object file: No such file "
            "or directory"
        ),
    ),
    (
        "LoadModule environ_module /m/mod_env.so",
        HEAD
        + (
            "Can't locate API module structure `environ_module' in file /m/mod_env.so: /m/mod_env.so: "
            "undefined symbol: environ_module"
        ),
    ),
    ("LoadModule so_module modules/mod_so.so", HEAD + "module so_module is built-in and can't be loaded"),
    ("LoadModule log_config_module m/mod_log_config.so", "Syntax OK"),
    (
        "LoadModule env_module",
        HEAD
        + (
            "LoadModule takes two arguments, a module name and the name of a shared object file to load it "
            "from"
        ),
    ),
    (
        "LoadModule env_module m/mod_env.so",
        "[so:warn] AH01574: module env_module is already loaded, skipping\nSyntax OK",
    ),
    (
        "LoadModule cache_disk_module /m/mod_cache_disk.so",
        HEAD
        + (
            "Cannot load /m/mod_cache_disk.so into server: /m/mod_cache_disk.so: undefined symbol: "
            "ap_cache_cacheable_headers_in"
        ),
    ),
    (
        "LoadModule mpm_worker_module m/mod_mpm_worker.so",
        "AH00534: apache2: Configuration error: More than one MPM loaded.",
    ),
    (
        "LoadFile a",
        HEAD + "Cannot load a into server: a: cannot open shared object file: No such file or directory",
    ),
]


@pytest.mark.parametrize(("line", "text"), LOADING)
def test_loading(tmp_path: Path, line: str, text: str) -> None:
    assert Site(tmp_path, f"{line}\n").check() == text


def test_no_mpm_comes_before_any_other_error(tmp_path: Path) -> None:
    assert (
        Site(tmp_path, "KeepAlive banana\n").check(before=())
        == "AH00534: apache2: Configuration error: No MPM loaded."
    )
    with pytest.raises(StartError):
        Site(tmp_path, "").load(before=())


CONTEXTS: list[tuple[str, str, str]] = [
    (
        "<Directory />\nServerName a\n</Directory>\n",
        "ServerName not allowed here",
        "ServerName not allowed in <Directory> context",
    ),
    (
        "<Files x>\n<VirtualHost *:80>\n</VirtualHost>\n</Files>\n",
        "<VirtualHost not allowed here",
        "<VirtualHost not allowed in <Files> context",
    ),
]


@pytest.mark.parametrize(("conf", "old", "new"), CONTEXTS)
def test_contexts(tmp_path: Path, conf: str, old: str, new: str) -> None:
    site = Site(tmp_path, conf)
    assert site.check("2.4") == f"AH00526: Syntax error on line 2 of @/conf/httpd.conf:\n{new}"
    assert site.check("2.2") == f"Syntax error on line 2 of @/conf/httpd.conf:\n{old}"


def test_unknown_directive(tmp_path: Path) -> None:
    assert Site(tmp_path, "\nNosuch x\n").check() == (
        "AH00526: Syntax error on line 2 of @/conf/httpd.conf:\n"
        "Invalid command 'Nosuch', perhaps misspelled or defined by a module not included in the server "
        "configuration"
    )


def test_directive_without_behaviour_is_noted(tmp_path: Path) -> None:
    configuration = Site(
        tmp_path, "LoadModule example_module m/mod_example.so\n<Directory />\nExample\n</Directory>\n"
    ).load(V22)
    assert [(node.name, node.place.line, source) for node, source in configuration.unimplemented] == [
        ("Example", 3, "mod_example.c")
    ]
    assert configuration.loaded("example_module")


def test_sections_in_order_of_merging(tmp_path: Path) -> None:
    conf = (
        '<Directory ~ "^/b">\n</Directory>\n<Directory /a/b>\n</Directory>\n<Directory />\n</Directory>\n'
        "<DirectoryMatch a>\n</DirectoryMatch>\n"
        "<Directory /c>\n</Directory>\n<VirtualHost *:80>\n<Directory /d>\n</Directory>\n</VirtualHost>\n"
    )
    configuration = Site(tmp_path, conf).load()
    assert [section.pattern for section in configuration.main.directories] == [
        "/",
        "/c/",
        "/a/b/",
        "^/b",
        "a",
    ]
    assert [section.pattern for section in configuration.virtual_hosts[0].directories] == [
        "/",
        "/c/",
        "/d/",
        "/a/b/",
        "^/b",
        "a",
    ]


def test_options_without_any_line(tmp_path: Path) -> None:
    """2.4: FollowSymLinks; 2.2: all but MultiViews."""
    new = Site(tmp_path, "").load().main.defaults.record(CoreDirConfig).options
    old = Site(tmp_path, "").load(V22).main.defaults.record(CoreDirConfig).options
    assert new.value & OPT_SYM_LINKS
    assert not new.value & OPT_INDEXES
    assert old.value & OPT_INDEXES


def test_virtual_host_keeps_what_the_main_server_set(tmp_path: Path) -> None:
    configuration = Site(
        tmp_path, "ServerName main\n<VirtualHost *:81>\nServerName v\nServerAlias w *.x\n</VirtualHost>\n"
    ).load()
    server = configuration.virtual_hosts[0]
    assert (server.name, server.names, server.wild_names, server.port) == ("v", ["w"], ["*.x"], 0)
    assert configuration.main.name == "main"


def test_hosts_that_set_nothing_share_what_they_inherit(tmp_path: Path) -> None:
    lines = (
        "Options All\nTimeout 7\n"
        + "<VirtualHost *:81>\n</VirtualHost>\n" * 2
        + "<VirtualHost *:82>\nTimeout 8\nOptions None\n</VirtualHost>\n"
    )
    configuration = Site(tmp_path, lines).load()
    one, two, own = configuration.virtual_hosts
    assert one.defaults.records is two.defaults.records
    assert (
        own.defaults.record(CoreDirConfig).options.value != one.defaults.record(CoreDirConfig).options.value
    )
    assert [conf.timeout for conf in confs(configuration.servers(), CoreServerConfig)] == [7.0, 8.0]


def test_a_server_lets_go_of_its_lines(tmp_path: Path) -> None:
    configuration = Site(tmp_path, "<Directory /a>\n<Files x>\nSetEnv a b\n</Files>\n</Directory>\n").load()
    outer = next(node for node in configuration.tree if node.name == "<Directory")
    configuration.release_tree()
    assert (configuration.tree, outer.children) == ([], ())
    assert [section.pattern for section in configuration.main.directories][-1:] == ["/a/"]


@pytest.mark.parametrize("build", ["debian", "upstream", "all"])
def test_compiled_in_modules_cannot_be_loaded(build: str, tmp_path: Path) -> None:
    """Asked of apache2: the name mod_NAME.c decides, so mod_so compares no core.c, http_core.c, event.c."""
    name = {"debian": "log_config_module", "upstream": "so_module", "all": "dir_module"}[build]
    site = Site(tmp_path, f"LoadModule {name} /m/other.so\n")
    assert site.check(before=(), build=build) == f"{HEAD}module {name} is built-in and can't be loaded"


def test_the_core_is_searched_as_a_file(tmp_path: Path) -> None:
    site = Site(tmp_path, "LoadModule http_module m/mod_http.so\n")
    assert site.check(build="debian") == (
        f"{HEAD}Cannot load m/mod_http.so into server: @/m/mod_http.so: cannot open shared object file: "
        "No such file or directory"
    )


def test_a_build_without_log_config_loads_it(tmp_path: Path) -> None:
    site = Site(tmp_path, "LoadModule log_config_module m/mod_log_config.so\n")
    assert site.check(before=("ServerName a",), build="upstream") == "Syntax OK"


@pytest.mark.parametrize(
    ("version", "line", "reason"),
    [
        (
            "2.2",
            "LoadModule mpm_prefork_module modules/mod_mpm_prefork.so",
            "a module that httpd 2.2 has compiled in, and not as a file",
        ),
        (
            "2.2",
            "LoadModule access_compat_module modules/mod_access_compat.so",
            "a module of httpd 2.4, which 2.2 does not have",
        ),
        (
            "2.4",
            "LoadModule authn_default_module modules/mod_authn_default.so",
            "a module of httpd 2.2, which 2.4 does not have",
        ),
    ],
)
def test_a_module_of_the_other_version_is_named_as_such(
    version: str, line: str, reason: str, tmp_path: Path
) -> None:
    library = tmp_path / line.split()[2]
    library.parent.mkdir()
    library.write_bytes(b"\x7fELF" + bytes(60))  # what dlopen takes
    (tmp_path / "httpd.conf").write_text(f"{line}\nListen 8080\nServerName a.example\n")
    side = load_side(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), version)
    assert side.errors[0].text.endswith(f": {reason}")
