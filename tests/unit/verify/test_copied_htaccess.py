""".htaccess files of a copy by `upgrade --out`: the file that was read is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.api.loaded_site import LoadedSite
from whimbrel.cli import check, explain, upgrade
from whimbrel.cli import verify as verify_command
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


def test_the_500_of_a_copy_is_in_the_answer_and_in_the_verdict(tmp_path: Path) -> None:
    """A server of the copy reads the old file, which 2.4 refuses: apache2 answers 500 there."""
    documents = tmp_path / "srv"
    old = tmp_path / "old"
    copy = tmp_path / "new"
    for directory in (documents, old):
        directory.mkdir()
    place = documents / ".htaccess"
    place.write_text("# of 2.2\nOrder allow,deny\nAllow from all\n")
    (documents / "a.html").write_text("a\n")
    (old / "httpd.conf").write_text(
        f"ServerRoot {old}\nListen 80\nServerName a\nDocumentRoot {documents}\nTypesConfig /dev/null\n"
        f"FileETag None\n<Directory {documents}>\nAllowOverride All\nOptions None\n"
        "Order allow,deny\nAllow from all\n</Directory>\n"
    )
    CliRunner().invoke(upgrade.app, ["--no-verify", str(old), "--out", str(copy)])
    output = CliRunner().invoke(verify_command.app, [str(old), str(copy)]).output
    ready = next(line for line in output.splitlines() if line.startswith("ready for 2.4: "))
    assert f": not yet: a server of this copy answers 500 below {documents}, " in ready
    words = ["http://a/a.html", "-d", str(copy)]
    answer = " ".join(CliRunner().invoke(explain.app, words).output.split())
    assert f"not yet: a copy of {place} was read: " in answer
    assert f"2.4 answers 500 with the file in its place ({place}:2)" in answer
    place.write_bytes(Path(f"{copy}{place}").read_bytes())
    output = CliRunner().invoke(verify_command.app, [str(old), str(copy)]).output
    assert "answers 500" not in output
