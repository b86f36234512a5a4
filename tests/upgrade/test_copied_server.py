"""`upgrade --out` writes a server that apache2 starts without the files of the original."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.corpus.httpd_check import APACHE, MODULES, needs_apache
from whimbrel.cli.main import app

NAMES = ("authz_host", "authn_file", "authz_user", "auth_basic", "dir", "mime")


@needs_apache
def test_apache2_starts_the_copy(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    root, out = tmp_path / "srv", tmp_path / "out"
    for name in ("conf", "conf.d", "logs"):
        (root / name).mkdir(parents=True)
    (root / "modules").symlink_to(MODULES)
    (root / "conf/users").write_text("robin:x\n")
    (root / "conf/mime.types").write_text("text/html html\n")
    loads = "".join(f"LoadModule {name}_module modules/mod_{name}.so\n" for name in NAMES)
    (root / "conf/httpd.conf").write_text(
        f'ServerRoot "{root}"\n{loads}ServerName localhost\nListen 127.0.0.1:8080\n'
        f"PidFile {root}/run/pid\nErrorLog logs/error_log\nTypesConfig conf/mime.types\n"
        f'DocumentRoot "{documents}"\nInclude {root}/conf.d/*.conf\n'
    )
    (root / "conf.d/a.conf").write_text(
        f'<Directory "{documents}">\nOrder allow,deny\nAllow from all\nAuthType Basic\nAuthName x\n'
        f"AuthUserFile {root}/conf/users\nRequire valid-user\n</Directory>\n"
    )
    with pytest.raises(SystemExit):
        app(["upgrade", "--no-verify", "--out", str(out), "-d", str(root)], prog_name="whimbrel")
    texts = {path: path.read_text() for path in out.rglob("*.conf")}
    assert len(texts) == 2 and not any(str(root) in text for text in texts.values())
    root.rename(tmp_path / "gone")  # what the copy still named there would be missing
    (out / "conf.d/b.conf").write_text("Nonsense\n")
    command = [str(APACHE), "-t", "-d", str(out), "-f", str(out / "conf/httpd.conf")]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert f"line 1 of {out}/conf.d/b.conf" in refused.stderr  # the Include line reads the copy
    (out / "conf.d/b.conf").unlink()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "Syntax OK\n")
