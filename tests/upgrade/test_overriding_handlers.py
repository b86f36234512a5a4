"""R14 names the files for which another line decides: those to which apache2 gives the other handler."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.corpus.httpd_check import needs_apache
from tests.upgrade.apache_process import Apache
from whimbrel.base.latin1 import from_system
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules.modules.overriding_handlers import PROGRAMS, matches, overriding_lines
from whimbrel.upgrade.source.queries import lines_for_24
from whimbrel.upgrade.source.reading import Sources, read_config_tree

MODULES = ("mpm_prefork", "authz_core", "mime", "status")
UNKNOWN = "a-handler-of-nothing"
LINES = {
    "plain": f"SetHandler {UNKNOWN}",
    "of-names": f'<FilesMatch "\\.">\nSetHandler {UNKNOWN}\n</FilesMatch>',
    "by-ending": f"AddHandler {UNKNOWN} {' '.join(PROGRAMS)}",
}
SECTIONS = {
    "pattern": '<FilesMatch "\\.ph(p3?|tml)$">\nSetHandler server-status\n</FilesMatch>\n',
    "tilde": '<Files ~ "\\.(cgi|pl)$">\nSetHandler server-status\n</Files>\n',
    "wildcard": "<Files *.p?>\nSetHandler server-status\n</Files>\n",
}
CONF = """\
TypesConfig /dev/null
DocumentRoot "{root}/htdocs"
<Directory "{root}/htdocs">
    AllowOverride All
</Directory>
"""


@pytest.fixture
def root() -> Iterator[Path]:
    """A directory that the user of apache2's processes may read, which pytest's are not."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-handlers-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@needs_apache
@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("line", LINES)
def test_as_apache2_decides(root: Path, line: str, section: str) -> None:
    for directory in ("conf", "logs", "htdocs"):
        (root / directory).mkdir()
    for ending in PROGRAMS:
        (root / f"htdocs/x{ending}").write_text("source")
    (root / "htdocs/.htaccess").write_text(f"{LINES[line]}\n")
    (root / "conf/httpd.conf").write_text(CONF.format(root=root) + SECTIONS[section])
    with Apache(root, (), MODULES) as server:
        overridden = [ending for ending in PROGRAMS if _body(server.port, f"x{ending}?auto") != "source"]
    options = LoadOptions(server_root=from_system(str(root)), file="conf/httpd.conf")
    tree = read_config_tree(Sources(options=options), UpgradeOptions())
    unknown = next(one for one in lines_for_24(tree, "sethandler", "addhandler") if UNKNOWN in one.args)
    found = overriding_lines(tree, unknown)
    assert overridden == [
        ending for ending in PROGRAMS if any(matches(one, f"x{ending}") for one, _ in found)
    ]
    assert bool(overridden) is (line != "of-names")


def _body(port: int, path: str) -> str:
    with urlopen(f"http://127.0.0.1:{port}/{path}", timeout=20) as response:
        return str(response.read().decode())
