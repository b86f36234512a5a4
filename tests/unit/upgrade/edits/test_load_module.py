"""LoadModule lines: their form, and where further ones go."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.catalogue import catalogue
from whimbrel.syntax.edits import Group, apply
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.edits.load_module import load_module_lines
from whimbrel.upgrade.model import TargetBuild, UpgradeOptions
from whimbrel.upgrade.rules.modules.x19_remote_address import check as check_remote

ALIAS = "LoadModule alias_module modules/mod_alias.so\n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("LoadModule alias_module modules/mod_alias.so", "LoadModule filter_module modules/mod_filter.so"),
        (
            'loadmodule  alias_module\t"libexec/mod_alias.so"',
            'loadmodule  filter_module\t"libexec/mod_filter.so"',
        ),
        ("LoadModule alias_module       /x/mod_alias.so", "LoadModule filter_module      /x/mod_filter.so"),
        ("Listen 80", "LoadModule filter_module modules/mod_filter.so"),
        ("LoadModule php5_module php/libphp5.so", "LoadModule filter_module modules/mod_filter.so"),
    ],
)
def test_a_line_looks_like_its_neighbours(tmp_path: Path, line: str, wanted: str) -> None:
    assert (
        load_module_lines(config_tree(tmp_path, {"conf/httpd.conf": f"{line}\n"})).format_line(
            "filter_module"
        )
        == wanted
    )


PASSENGER = "LoadModule passenger_module /usr/lib/passenger/buildout/apache2/mod_passenger.so\n"
HTML = "LoadModule proxy_html_module /opt/html/mod_proxy_html.so\n"
ODD = "LoadModule ssl_module /opt/ssl/mod_ssl.so\n"
RPAF = "LoadModule rpaf_module /opt/rpaf/mod_rpaf-2.0.so\n"


@pytest.mark.parametrize(
    ("text", "directory"),
    [
        (ALIAS + PASSENGER, "modules"),
        (PASSENGER, "modules"),
        (ALIAS + HTML, "modules"),
        (ALIAS + ALIAS.replace("alias", "env") + ODD, "modules"),
        (ODD, "/opt/ssl"),
        (f"<IfModule !mod_so.c>\n{ALIAS}</IfModule>\n{ODD}", "/opt/ssl"),
    ],
)
def test_a_line_is_not_put_into_the_directory_of_another_product(
    tmp_path: Path, text: str, directory: str
) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": text})
    line = load_module_lines(tree).format_line("filter_module")
    assert line.endswith(f" {directory}/mod_filter.so")


def test_the_successor_of_mod_rpaf_is_loaded_from_httpds_directory(tmp_path: Path) -> None:
    tree = config_tree(tmp_path, {"conf/httpd.conf": ALIAS + RPAF})
    (finding,) = [found for found in check_remote(tree) if "LoadModule" in found.message]
    assert [edit.edit.text for edit in finding.edits] == [
        b"LoadModule remoteip_module modules/mod_remoteip.so\n"
    ]


def test_what_is_loaded(tmp_path: Path) -> None:
    found = load_module_lines(
        config_tree(
            tmp_path,
            {
                "conf/httpd.conf": ALIAS
                + "<IfDefine X>\nLoadModule env_module modules/mod_env.so\n</IfDefine>\n"
            },
        )
    )
    assert found.identifiers_24 == {"alias_module", "env_module"}
    assert [line.args.split()[0] for line in found.lines] == ["alias_module"]


@pytest.mark.parametrize(
    ("module", "text", "wanted"),
    [
        ("filter_module", f"A\n{ALIAS}B\n", f"A\n{ALIAS}NEW\nB\n"),
        ("mpm_prefork_module", f"A\n{ALIAS}B\n", f"A\nNEW\n{ALIAS}B\n"),
        (
            "mpm_prefork_module",
            f"A\n<IfModule worker.c>\nX\n</IfModule>\n{ALIAS}",
            f"A\nNEW\n<IfModule worker.c>\nX\n</IfModule>\n{ALIAS}",
        ),
        ("filter_module", "ServerRoot ROOT\nB\n", "ServerRoot ROOT\nNEW\nB\n"),
        (
            "filter_module",
            f"<IfModule x>\n{ALIAS}</IfModule>\nB\n",
            f"<IfModule x>\n{ALIAS}NEW\n</IfModule>\nB\n",
        ),
    ],
)
def test_where_a_line_goes(tmp_path: Path, module: str, text: str, wanted: str) -> None:
    options = UpgradeOptions(target_build=TargetBuild.SHARED)
    found = config_tree(tmp_path, {"conf/httpd.conf": text}, options=options)
    state, row = load_module_lines(found), catalogue("2.4").module(module)
    assert row is not None
    made = state.insertion(row)
    assert made is not None
    data = next(iter(found.files.values())).document.bytes
    new = apply(data, [Group((made[1].edit,))]).decode("latin-1")
    assert new == wanted.replace("NEW", state.format_line(module)).replace("ROOT", str(tmp_path))


GUARDED = """\
<IfModule !mpm_prefork_module>
<IfModule !mpm_worker_module>
<IfModule !mpm_event_module>
    LoadModule mpm_prefork_module modules/mod_mpm_prefork.so
</IfModule>
</IfModule>
</IfModule>
"""


def test_an_mpm_is_loaded_unless_one_is_compiled_in(tmp_path: Path) -> None:
    """configure compiles an MPM in without --enable-mpms-shared; two of them end the start (AH00534)."""
    conf = f"{ALIAS}<IfModule prefork.c>\nMaxClients 9\n</IfModule>\n"
    texts = {}
    for name, build in (("any", None), *((build.value, build) for build in TargetBuild)):
        options = UpgradeOptions(target_build=build)
        tree = config_tree(tmp_path / name, {"conf/httpd.conf": conf}, options=options)
        texts[name] = next(iter(upgrade(tree).files.values())).decode()
        assert "MaxRequestWorkers 9" in texts[name]
        again = upgrade(config_tree(tmp_path / f"{name}2", {"conf/httpd.conf": texts[name]}, options=options))
        assert not again.files and not [one for one in again.findings if "MPM" in one.message], name
    assert texts["any"].startswith(GUARDED)
    assert texts["shared"].startswith("LoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n")
    assert "LoadModule mpm_" not in texts["upstream"] + texts["suse"]


@pytest.mark.parametrize(("files", "is_loaded"), [((), False), (("mod_mpm_prefork.so",), True)])
def test_the_modules_show_whether_the_mpm_is_compiled_in(
    tmp_path: Path, files: tuple[str, ...], is_loaded: bool
) -> None:
    (tmp_path / "modules").mkdir()
    for name in ("mod_authz_core.so", "mod_unixd.so", *files):
        (tmp_path / "modules" / name).write_bytes(b"")
    text = next(iter(upgrade(config_tree(tmp_path, {"conf/httpd.conf": ALIAS})).files.values())).decode()
    assert ("LoadModule mpm_prefork_module" in text) is is_loaded
    assert "IfModule" not in text


def test_debian_switches_modules_on_by_files(tmp_path: Path) -> None:
    found = config_tree(
        tmp_path, {"conf/httpd.conf": "Listen 80\nInclude conf/mods/*.load\n", "conf/mods/alias.load": ALIAS}
    )
    state, row = load_module_lines(found), catalogue("2.4").module("filter_module")
    assert state.is_debian
    assert row is not None
    made = state.insertion(row)
    assert made is not None
    assert made[0].name == "include"


def test_modules_that_a_binary_has(tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    found = load_module_lines(config_tree(tmp_path, {"conf/httpd.conf": ALIAS}))
    assert not found.is_built_in("unixd_module")
    (tmp_path / "modules/mod_authz_core.so").write_bytes(b"")
    assert found.is_built_in("unixd_module")
    assert not found.is_built_in("filter_module")
    (tmp_path / "modules/mod_unixd.so").write_bytes(b"")
    assert not found.is_built_in("unixd_module")


def test_lines_that_a_binary_refuses(tmp_path: Path) -> None:
    conf = ALIAS + "LoadModule unixd_module modules/mod_unixd.so\n"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/mod_authz_core.so").write_bytes(b"")
    found = config_tree(tmp_path, {"conf/httpd.conf": conf})
    assert [
        line.words()[0]
        for line in load_module_lines(found).lines
        if load_module_lines(found).is_refused(line)
    ] == ["unixd_module"]
    after = next(iter(upgrade(found).files.values()))
    assert b"unixd_module" not in after
    (tmp_path / "modules/mod_unixd.so").write_bytes(b"")
    assert b"unixd_module" in next(
        iter(upgrade(config_tree(tmp_path, {"conf/httpd.conf": conf})).files.values())
    )


def test_the_target_build_decides_about_lines_of_compiled_in_modules(tmp_path: Path) -> None:
    # Debian's apache2: "module log_config_module is built-in and can't be loaded"
    conf = ALIAS + "LoadModule log_config_module modules/mod_log_config.so\nUser daemon\n"
    texts = {}
    for build in TargetBuild:
        tree = config_tree(
            tmp_path / build.value, {"conf/httpd.conf": conf}, options=UpgradeOptions(target_build=build)
        )
        texts[build] = upgrade(tree).files[f"{tmp_path}/{build.value}/conf/httpd.conf"]
    assert b"log_config_module" not in texts[TargetBuild.DEBIAN]
    assert b"unixd_module" not in texts[TargetBuild.DEBIAN]
    assert b"LoadModule log_config_module" in texts[TargetBuild.SHARED]
    assert b"LoadModule unixd_module" in texts[TargetBuild.SHARED]


def test_a_path_of_debian_shows_its_build(tmp_path: Path) -> None:
    line = "LoadModule log_config_module /usr/lib/apache2/modules/mod_log_config.so\n"
    tree = config_tree(tmp_path, {"conf/httpd.conf": f"{ALIAS}{line}"})
    assert b"log_config" not in next(iter(upgrade(tree).files.values()))


def test_further_lines_stand_in_the_main_file_not_in_that_of_a_product(tmp_path: Path) -> None:
    tree = config_tree(
        tmp_path,
        {
            "conf/httpd.conf": f"{ALIAS}LoadModule proxy_balancer_module modules/mod_proxy_balancer.so\n"
            "Listen 80\nInclude conf.d/*.conf\n",
            "conf.d/security.conf": "LoadModule unique_id_module modules/mod_unique_id.so\n",
        },
    )
    result = upgrade(tree)
    assert "conf.d/security.conf" not in {path.removeprefix(f"{tmp_path}/") for path in result.files}
    [shared] = [finding for finding in result.findings if finding.message.startswith("mod_slotmem_shm")]
    assert shared.place.line == 2, "the line that needs the module"


# README.SuSE: the packages of the MPMs have httpd itself, which modules of /usr/lib64/apache2-prefork are for
OF_SUSE = "LoadModule alias_module /usr/lib64/apache2-prefork/mod_alias.so\n"
BUILT_IN = ("mpm_prefork_module", "mpm_worker_module", "unixd_module")


def test_the_httpd_of_suse_has_its_mpm_and_unixd(tmp_path: Path) -> None:
    text = f"{OF_SUSE}User wwwrun\n<IfModule prefork.c>\nMaxClients 9\n</IfModule>\n"
    result = upgrade(config_tree(tmp_path, {"conf/httpd.conf": text}))
    assert result.upgraded is not None
    loaded = {line.words()[0] for line in result.upgraded.named("loadmodule")}
    assert "authz_core_module" in loaded
    assert not loaded.intersection(BUILT_IN)


def test_the_httpd_of_suse_refuses_lines_of_its_own_modules(tmp_path: Path) -> None:
    line = "LoadModule unixd_module /usr/lib64/apache2/mod_unixd.so\n"
    lines = load_module_lines(config_tree(tmp_path, {"conf/httpd.conf": OF_SUSE + line}))
    assert [lines.is_refused(one) for one in lines.lines] == [False, True]
    options = UpgradeOptions(target_build=TargetBuild.SHARED)
    tree = config_tree(tmp_path, {"conf/httpd.conf": OF_SUSE + line}, options=options)
    assert not load_module_lines(tree).is_built_in("unixd_module")
    options = UpgradeOptions(target_build=TargetBuild.SUSE)
    tree = config_tree(tmp_path, {"conf/httpd.conf": ALIAS}, options=options)
    assert all(map(load_module_lines(tree).is_built_in, BUILT_IN))
    assert not load_module_lines(tree).is_built_in("log_config_module")
