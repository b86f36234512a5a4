"""The build of a text. Expected: `httpd -l` and `-V` of the distributions."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.base.builds import Build
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError, NoMpm, UnknownDirective
from whimbrel.config.configuration import Configuration
from whimbrel.config.detected_build import presumed_build
from whimbrel.config.load import complete, read_as_its_build
from whimbrel.config.options import LoadOptions
from whimbrel.config.servers import server_at
from whimbrel.modules import ALL

MPM = "LoadModule mpm_event_module modules/mod_mpm_event.so\n"
LOG_CONFIG = "LoadModule log_config_module modules/mod_log_config.so\n"
UNIXD = "LoadModule unixd_module modules/mod_unixd.so\n"
PRIVATE_MPM = "LoadModule mpm_event_module /srv/modules/mod_mpm_event.so\n"
DEBIAN_MPM = "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"


def load(
    directory: Path, text: str, *, dialect: str = "2.4", build: str = "auto", more: str = ""
) -> Configuration:
    """Return the configuration of *text*, which includes *more*."""
    (directory / "logs").mkdir()
    (directory / "httpd.conf").write_text(f"ServerName a\nListen 127.0.0.1:8080\n{text}")
    (directory / "more.conf").write_text(more)
    options = LoadOptions(server_root=str(directory), file="httpd.conf", check_only=True, build=build)
    return complete(read_as_its_build(options, ALL, DIALECTS[dialect]))


@pytest.mark.parametrize(
    ("text", "more", "name"),
    [
        ("", "", "upstream"),
        (LOG_CONFIG + UNIXD, "", "upstream"),
        (MPM, "", "shared"),
        (MPM + LOG_CONFIG + UNIXD + "User nobody\n", "", "shared"),
        ("Include more.conf\n", MPM, "shared"),
        ("<IfModule !mpm_event_module>\nError x\n</IfModule>\n", "", "upstream"),
        ("# /etc/httpd/\n" + MPM, "", "shared"),
        ("# /srv/etc/httpd.conf\n" + LOG_CONFIG, "", "upstream"),
        (PRIVATE_MPM, "", "debian"),
        (PRIVATE_MPM + "User nobody\nCustomLog a common\n", "", "debian"),
        (PRIVATE_MPM + LOG_CONFIG, "", "shared"),
        (LOG_CONFIG + PRIVATE_MPM, "", "shared"),
        (DEBIAN_MPM + "User nobody\nCustomLog a common\n", "", "debian"),
        ("Include more.conf\nUser nobody\n", DEBIAN_MPM, "debian"),
        ("Include more.conf\n# mods-enabled/*.load\nUser nobody\n", DEBIAN_MPM, "debian"),
        ("# /etc/sysconfig/apache2\nUser nobody\n" + LOG_CONFIG, "", "suse"),
    ],
)
def test_the_text_shows_the_build(text: str, more: str, name: str, tmp_path: Path) -> None:
    assert load(tmp_path, text, more=more).build.name == name


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ("authz_core mpm_event alias", "debian"),
        ("authz_core mpm_event log_config", "shared"),
        ("authz_core mpm_event unixd log_config", "shared"),
        ("mpm_event", "shared"),
    ],
)
def test_the_directory_of_modules_shows_the_build(files: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "modules").mkdir()
    for file in files.split():
        (tmp_path / f"modules/mod_{file}.so").write_bytes(b"")
    assert load(tmp_path, MPM).build.name == name


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (MPM + LOG_CONFIG + "User nobody\n", "unixd_module modules/mod_unixd.so"),
        (MPM + UNIXD + "CustomLog a common\n", "log_config_module modules/mod_log_config.so"),
        ("Order allow,deny\n", "access_compat_module modules/mod_access_compat.so"),
    ],
)
def test_what_a_shared_build_has_not_loaded_is_unknown(text: str, module: str, tmp_path: Path) -> None:
    """Rows C45 and C46 of the table of changes."""
    with pytest.raises(UnknownDirective) as caught:
        load(tmp_path, text)
    assert caught.value.hint == f"add: LoadModule {module}"


def test_conditional_sections_see_the_modules_of_the_shown_build(tmp_path: Path) -> None:
    text = f"<IfModule log_config_module>\nError compiled in\n</IfModule>\n{MPM}"
    assert load(tmp_path, text).build.name == "shared"


def test_a_layout_without_an_mpm_line(tmp_path: Path) -> None:
    with pytest.raises(NoMpm):
        load(tmp_path, "# /etc/httpd/\n")


def test_a_compiled_in_module_is_refused_in_a_named_build_alone(tmp_path: Path) -> None:
    text = DEBIAN_MPM + LOG_CONFIG
    found = load(tmp_path, text)
    assert found.build.name == "debian"
    assert [message.code for message in found.messages] == ["AH01574"]
    (tmp_path / "logs").rmdir()
    with pytest.raises(ConfigError, match="module log_config_module is built-in and can't be loaded"):
        load(tmp_path, text, build="debian")


@pytest.mark.parametrize(
    ("line", "layout", "pid_file", "types_file"),
    [
        ("# /etc/httpd/", "Red Hat's packages", "/run/httpd/httpd.pid", "conf/mime.types"),
        ("# /etc/sysconfig/apache2", "SUSE's packages", "/run/httpd.pid", "/etc/apache2/mime.types"),
        ("# libexec/apache24/", "FreeBSD's port", "/var/run/httpd.pid", "etc/apache24/mime.types"),
        ("# mods-enabled", "Debian's packages", "/run/apache2.pid", "mime.types"),
        ("", "httpd's own", "logs/httpd.pid", "conf/mime.types"),
    ],
)
def test_paths_follow_the_layout(
    line: str, layout: str, pid_file: str, types_file: str, tmp_path: Path
) -> None:
    text = f"{line}\n" if "SUSE" in layout else f"{line}\n{MPM}"
    build = load(tmp_path, text).build
    assert (build.layout.name, build.pid_file, build.types_file) == (layout, pid_file, types_file)


def test_auto_of_22_accepts_every_line(tmp_path: Path) -> None:
    build = load(tmp_path, "LoadModule log_config_module modules/mod_log_config.so\n", dialect="2.2").build
    assert (build.name, build.is_detected) == ("auto", True)


def test_auto_without_a_text_is_the_default_build() -> None:
    assert Build("auto", "2.4").sources == ("core.c", "mod_so.c", "http_core.c", "event.c")


@pytest.mark.parametrize(("target", "is_debian"), [("/usr/lib/apache2/modules", True), ("/usr/lib/x", False)])
def test_a_link_to_the_modules_of_debian_shows_its_build(
    target: str, is_debian: bool, tmp_path: Path
) -> None:
    """`apache2 -l` of Debian lists mod_log_config and mod_unixd; `apache2 -t` of such a tree accepts lines of
    both without a LoadModule. In a copy the link leads out of what was copied.
    """
    root = tmp_path / "etc/httpd"
    (root / "conf").mkdir(parents=True)
    (root / "modules").symlink_to(target)
    text = f'ServerRoot "/etc/httpd"\nServerName a\nListen 8080\n{MPM}User nobody\n'
    (root / "conf/httpd.conf").write_text(f"{text}CustomLog logs/a common\n")
    server = server_at(str(root))
    assert server is not None
    assert server.image == str(tmp_path)
    options = LoadOptions(
        server_root=server.root,
        file=server.file,
        check_only=True,
        build="auto",
        is_elsewhere=True,
        is_copy=True,
        copied=server.copied,
    )
    if is_debian:
        assert complete(read_as_its_build(options, ALL, DIALECTS["2.4"])).build.name == "debian"
        return
    with pytest.raises(UnknownDirective, match="User"):
        complete(read_as_its_build(options, ALL, DIALECTS["2.4"]))


@pytest.mark.parametrize("build", ["upstream", "debian", "shared", "suse"])
def test_a_named_build_of_24_says_nothing_of_the_22_it_is_compared_with(build: str, tmp_path: Path) -> None:
    """2.2 built with --enable-mods-shared=all loads all its modules, whatever 2.4 has compiled in."""
    names = "alias", "authz_host", "log_config"
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in names)
    (tmp_path / "httpd.conf").write_text(f"ServerName a\nListen 127.0.0.1:8080\n{lines}")
    options = LoadOptions(
        server_root=str(tmp_path), file="httpd.conf", check_only=True, build=build, is_build_of_24=True
    )
    assert presumed_build(options, DIALECTS["2.2"]).name == "auto"
    assert presumed_build(options, DIALECTS["2.4"]).name == build
    read_as_its_build(options, ALL, DIALECTS["2.2"])


@pytest.mark.parametrize("mpm", ["prefork", "worker", "event"])
def test_a_text_that_loads_an_mpm_unless_one_is_there_is_read_with_it(mpm: str, tmp_path: Path) -> None:
    """A shared build loads that MPM: the sections of the text are for it."""
    tests = [f"<IfModule !mpm_{name}_module>" for name in ("prefork", "worker", "event")]
    line = f"    LoadModule mpm_{mpm}_module modules/mod_mpm_{mpm}.so"
    branch = f"<IfModule {mpm}.c>\nDefine IS_READ\n</IfModule>\n<IfDefine !IS_READ>\nError x\n</IfDefine>\n"
    found = load(tmp_path, "\n".join([*tests, line, *["</IfModule>"] * 3, branch]))
    assert found.build.name == "upstream"
    assert [name for name in found.build.sources if not name.startswith(("mod_", "core", "http"))] == [
        f"{mpm}.c"
    ]
