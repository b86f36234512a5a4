""".htaccess files of a copy by `upgrade --out`: the file that was read is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.api.loaded_site import LoadedSite
from whimbrel.cli import check, upgrade
from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.knowledge.scope import UnknownKind
from whimbrel.verify.loading import as_copy, load_sides
from whimbrel.verify.probe import Probe
from whimbrel.verify.verify import verify

LOADS = "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("mpm_event", "authz_core", "authz_host")
)


@pytest.mark.parametrize("is_written", [False, True])
def test_the_file_that_was_read_is_named(tmp_path: Path, *, is_written: bool) -> None:
    documents = tmp_path / "srv"
    place = documents / ".htaccess"
    copy = Path(f"{tmp_path}/copy{place}")
    for directory in (documents, copy.parent):
        directory.mkdir(parents=True)
    (documents / "a.html").touch()
    copy.write_text("# new\nRequire ip 10.0.0.0/8\n")
    place.write_text(copy.read_text() if is_written else "Require all denied\n")
    text = f"{LOADS}Listen 80\nServerName a\nDocumentRoot {documents}\n<Directory {documents}>\n"
    text += "AllowOverride All\n"
    (tmp_path / "copy/httpd.conf").write_text(f"{text}Require all granted\n</Directory>\n")
    options = LoadOptions(server_root=f"{tmp_path}/copy", file="httpd.conf")
    options = as_copy(options, options)
    sides = load_sides((options, options), ("2.4", "2.4"), ("old", "new"))
    explanation, scope = LoadedSite(sides[1]).explain(Probe("/a.html", host="a", client="10.1.1.1"))
    assert explanation.status == 200
    lines = {(line.place.path, line.place.line) for step in explanation.all() for line in step.lines}
    assert (str(copy), 2) in lines and not any(path == str(place) for path, _ in lines)
    for found, matters in ((scope, True), (verify(*sides, limit=20).scope, False)):
        items = [item for item in found.items if item.kind is UnknownKind.STAND_IN]
        assert [item.matters for item in items] == ([] if is_written else [matters])
        assert all(item.place is not None and item.place.path == str(copy) for item in items)


def test_a_check_of_the_copy_reads_the_copies(tmp_path: Path) -> None:
    """The file on disk is still of 2.2; its copy is what the copied server is about."""
    documents = tmp_path / "srv"
    copy = tmp_path / "new"
    documents.mkdir()
    (documents / ".htaccess").write_text("Order allow,deny\nAllow from all\n")
    old = tmp_path / "old"
    old.mkdir()
    (old / "httpd.conf").write_text(
        f"ServerRoot {old}\nListen 80\nServerName a\nDocumentRoot {documents}\nTypesConfig /dev/null\n"
        f"<Directory {documents}>\nAllowOverride All\nOptions None\n"
        "Order allow,deny\nAllow from all\n</Directory>\n"
    )
    CliRunner().invoke(upgrade.app, ["--no-verify", str(old), "--out", str(copy)])
    assert Path(f"{copy}{documents}/.htaccess").read_text() == "Require all granted\n"
    output = CliRunner().invoke(check.app, [str(copy)]).output
    assert "C17" not in output and "X22" not in output and "upgrade" not in output.splitlines()[-1], output
    assert "read in the place of" in output
