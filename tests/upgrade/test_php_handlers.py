"""Handlers of PHP after an upgrade, on apache2 with PHP 8: scripts run, and no source text is sent."""

from __future__ import annotations

import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.httpd_check import APACHE, MODULES
from tests.upgrade.apache_process import Apache
from whimbrel.base.latin1 import from_system
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Risk, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

LIBRARY = max(MODULES.glob("libphp8*.so"), default=None)
SOURCE = b"<?php echo 6 * 7;"
LINES = (
    "AddHandler php5-script .php",
    '<FilesMatch "\\.php$">\nSetHandler php5-script\n</FilesMatch>',
    'AddHandler "php7-script" php',
)

pytestmark = pytest.mark.skipif(
    not APACHE.is_file() or LIBRARY is None, reason="no apache2 with the module of PHP 8 on this machine"
)


@pytest.fixture
def where() -> Iterator[Path]:
    """A directory that the user of apache2 may enter."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def upgraded(path: Path) -> bytes:
    """Upgrade a file alone; return its new text, and require that the finding is about access."""
    tree = read_config_tree(Sources(fragments=(from_system(str(path)),)), UpgradeOptions())
    result = upgrade(tree)
    assert [finding.risk for finding in result.findings if finding.rule == "R12"] == [Risk.OPENS]
    return result.files[from_system(str(path))]


def test_scripts_run_after_the_upgrade(where: Path) -> None:
    (where / "conf").mkdir()
    (where / "conf" / "mime.types").touch()
    (where / "conf" / "httpd.conf").write_text(
        f'TypesConfig conf/mime.types\nLoadModule php_module {LIBRARY}\nDocumentRoot "{where}/htdocs"\n'
        f'<Directory "{where}/htdocs">\nAllowOverride All\n</Directory>\n'
    )
    for number, text in enumerate(LINES):
        for name in ("old", "new"):
            directory = where / "htdocs" / f"{name}{number}"
            directory.mkdir(parents=True)
            (directory / "a.php").write_bytes(SOURCE)
            (directory / ".htaccess").write_text(text + "\n")
        path = where / "htdocs" / f"new{number}" / ".htaccess"
        path.write_bytes(upgraded(path))
    with Apache(where, (), ("mpm_prefork", "authz_core", "mime")) as server:
        for number in range(len(LINES)):
            url = f"http://127.0.0.1:{server.port}"
            with urllib.request.urlopen(f"{url}/old{number}/a.php") as reply:
                assert reply.read() == SOURCE
            with urllib.request.urlopen(f"{url}/new{number}/a.php") as reply:
                assert reply.read() == b"42"
