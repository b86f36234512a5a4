"""A 2.2 text of a source build starts on Debian's apache2 after `--target-build debian`, without changes."""

from __future__ import annotations

from pathlib import Path

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache, run_check
from whimbrel.base.latin1 import from_system, to_bytes
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import TargetBuild, UpgradeOptions
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


@needs_apache
def test_the_text_for_shared_modules_names_them(tmp_path: Path) -> None:
    upgraded(tmp_path / "root", UpgradeOptions(target_build=TargetBuild.SHARED))
    _status, text = run_check([str(APACHE)], tmp_path / "root", "conf/httpd.conf")
    assert "module log_config_module is built-in and can't be loaded" in text
