"""A 2.2 text of a source build starts on Debian's apache2 after `--target-build debian`, without changes."""

from __future__ import annotations

from pathlib import Path

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache, run_check
from whimbrel.api.checking import upgrade_sources
from whimbrel.base.dialect import V24
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import Selection
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.check.loading import load
from whimbrel.upgrade.model import LOAD_ERROR, TargetBuild, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

NAMES = ("log_config", "logio", "version", "authz_host", "dir", "mime", "alias", "setenvif")
TEXT = """Listen 127.0.0.1:1
User daemon
Group daemon
ServerName localhost
TypesConfig /dev/null
LogFormat "%h %I %O" io
CustomLog logs/access io
<IfVersion >= 2.2>
    DocumentRoot "htdocs"
</IfVersion>
<Directory />
    Order allow,deny
    Allow from all
</Directory>
"""


def upgraded(root: Path, options: UpgradeOptions) -> None:
    for name in ("conf", "htdocs", "logs"):
        (root / name).mkdir(parents=True)
    (root / "modules").symlink_to(MODULES)
    lines = [f"LoadModule {name}_module modules/mod_{name}.so" for name in NAMES]
    (root / "conf" / "httpd.conf").write_text("\n".join([f"ServerRoot {root}", *lines, TEXT]))
    tree = read_config_tree(Sources(options=LoadOptions(server_root=from_system(str(root)))), options)
    for path, data in upgrade(tree).files.items():
        Path(to_bytes(path).decode()).write_bytes(data)


@needs_apache
def test_the_text_starts_on_debians_binary(tmp_path: Path) -> None:
    for name, options in (
        ("named", UpgradeOptions(target_build=TargetBuild.DEBIAN)),
        ("detected", UpgradeOptions()),
    ):
        upgraded(tmp_path / name, options)
        status, text = run_check([str(APACHE)], tmp_path / name, "conf/httpd.conf")
        assert status == 0, text


def test_the_text_is_judged_by_the_build_that_it_is_written_for(tmp_path: Path) -> None:
    """Debian's httpd knows User and CustomLog without LoadModule, and refuses one of mod_log_config."""
    (tmp_path / "conf").mkdir()
    lines = [f"LoadModule {name}_module modules/mod_{name}.so" for name in NAMES]
    (tmp_path / "conf/httpd.conf").write_text("\n".join([f"ServerRoot {tmp_path}", *lines, TEXT]))
    named = LoadOptions(server_root=from_system(str(tmp_path)), build="debian")
    for server, options in (
        (replace(named, build="auto"), UpgradeOptions(target_build=TargetBuild.DEBIAN)),
        (named, UpgradeOptions()),
    ):
        result, _ = upgrade_sources(Sources(options=server), options, Selection(), is_verified=False)
        assert [one for one in result.findings if one.rule == LOAD_ERROR] == []
        (text,) = result.files.values()
        assert b"log_config_module" not in text and b"unixd_module" not in text
        overlay = {**named.overlay, **result.files}
        assert load(replace(named, overlay=overlay), V24)[1] is None


@needs_apache
def test_the_text_for_shared_modules_names_them(tmp_path: Path) -> None:
    upgraded(tmp_path / "root", UpgradeOptions(target_build=TargetBuild.SHARED))
    _status, text = run_check([str(APACHE)], tmp_path / "root", "conf/httpd.conf")
    assert "module log_config_module is built-in and can't be loaded" in text


@needs_apache
def test_the_line_of_the_mpm_holds_whether_one_is_compiled_in_or_not(tmp_path: Path) -> None:
    """A module that -C loads stands for a compiled-in one: <IfModule> finds both before the first line."""
    for name in ("conf", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "conf/httpd.conf").write_text(
        f"ServerRoot {tmp_path}\nServerName a\nListen 127.0.0.1:1\nLoadModule dir_module modules/mod_dir.so\n"
    )
    server = LoadOptions(server_root=from_system(str(tmp_path)), build="auto")
    result, _ = upgrade_sources(Sources(options=server), UpgradeOptions(), Selection(), is_verified=False)
    (text,) = result.files.values()
    (tmp_path / "modules").symlink_to(MODULES)
    lines = [line for line in text.split(b"\n") if b"unixd_module" not in line]  # compiled into Debian's
    (tmp_path / "conf/httpd.conf").write_bytes(b"\n".join(lines))
    mpm = "LoadModule mpm_event_module modules/mod_mpm_event.so"
    for before in ([], ["-C", mpm]):
        status, output = run_check([str(APACHE), *before], tmp_path, "conf/httpd.conf")
        assert status == 0, output
    # what the sections are for: httpd refuses two MPMs
    (tmp_path / "conf/httpd.conf").write_bytes(b"\n".join(line for line in lines if b"IfModule" not in line))
    status, output = run_check([str(APACHE), "-C", mpm], tmp_path, "conf/httpd.conf")
    assert status != 0 and "More than one MPM loaded" in output
