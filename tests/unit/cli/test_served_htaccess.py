"""The start of `whimbrel serve` names the .htaccess files that a copy of `upgrade --out` does not replace."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.base.dialect import V24
from whimbrel.base.latin1 import from_system
from whimbrel.cli.served_htaccess import htaccess_notes
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.loading import load

TEXT = """ServerRoot "{root}"
Listen 127.0.0.1:8080
ServerName a.example
User nobody
Group nobody
DocumentRoot "{root}/htdocs"
DefaultType None
<Directory "{root}/htdocs">
    Order allow,deny
    Allow from all
    AllowOverride {override}
</Directory>
"""


def notes_of(root: Path) -> list[str]:
    configuration, problem = load(LoadOptions(server_root=from_system(str(root))), V24)
    assert configuration is not None, problem
    return htaccess_notes(configuration)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    root = tmp_path / "old"
    (root / "conf").mkdir(parents=True)
    (root / "htdocs/private").mkdir(parents=True)
    (root / "conf/httpd.conf").write_text(TEXT.format(root=root, override="All"))
    (root / "htdocs/private/.htaccess").write_text("Order allow,deny\nAllow from all\n")
    return root


def test_a_copy_reads_the_old_files(old: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    done = warm_command.run(["upgrade", "-d", str(old), "--out", str(new)], cwd=tmp_path)
    assert (new / "htdocs/private/.htaccess").exists(), done.stdout
    place = f"{old}/htdocs/private/.htaccess"
    reads, refuses, mended = notes_of(new)
    assert reads.startswith(f"{place} is read, not {new}/htdocs/private/.htaccess,")
    # mod_access_compat is not loaded by the new text: httpd 2.4 does not know Order in line 1
    assert refuses.startswith(f"500 for each request below {old}/htdocs/private: {place}:1: Invalid command")
    assert "upgrade --write" in mended
    Path(place).write_bytes((new / "htdocs/private/.htaccess").read_bytes())
    assert notes_of(new) == []


def test_a_file_that_is_not_read_is_not_named(old: Path, tmp_path: Path) -> None:
    (old / "conf/httpd.conf").write_text(TEXT.format(root=old, override="None"))
    new = tmp_path / "new"
    warm_command.run(["upgrade", "-d", str(old), "--out", str(new)], cwd=tmp_path)
    (new / "htdocs/private").mkdir(parents=True, exist_ok=True)
    (new / "htdocs/private/.htaccess").write_text("Require all granted\n")
    assert notes_of(new) == []


def test_a_server_in_its_place(old: Path) -> None:
    """httpd 2.4 reads the text with mod_access_compat, which no line loads here: 500 by the file alone."""
    main = old / "conf/httpd.conf"
    main.write_text(main.read_text().replace("    Order allow,deny\n    Allow from all\n", ""))
    load_lines = ("mpm_event", "unixd", "authz_core")
    lines = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in load_lines)
    main.write_text(lines + main.read_text())
    first, _ = notes_of(old)
    assert first.startswith(f"500 for each request below {old}/htdocs/private: ")
