"""A copy of a server whose documents lie elsewhere: the files of this machine answer, which is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from whimbrel.cli import explain, verify

TEXT = """ServerRoot "{root}/server"
Listen 127.0.0.1:8080
ServerName a.example
DefaultType None
LoadModule dir_module modules/mod_dir.so
<IfModule !mod_version.c>
    LoadModule version_module modules/mod_version.so
</IfModule>
<IfVersion >= 2.4>
    LoadModule unixd_module modules/mod_unixd.so
    LoadModule mpm_event_module modules/mod_mpm_event.so
    LoadModule authz_core_module modules/mod_authz_core.so
</IfVersion>
DocumentRoot "{root}/www"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("server/conf", "server/logs", "www"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "server/conf/httpd.conf").write_text(TEXT.format(root=tmp_path))
    (tmp_path / "www/index.html").write_text("hello\n")
    shutil.copytree(tmp_path / "server", tmp_path / "copy")
    return tmp_path


def output_of(app: object, *words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, [*words])  # type: ignore[arg-type]
    return found.exit_code, found.output


def test_a_comparison_of_a_copy_does_not_rest_on_the_files_of_this_machine(root: Path) -> None:
    """The machine of the copy may have other .htaccess files in the directory."""
    wanted = f"{root}/www is outside of {root}/copy, the copy that is read"
    status, output = output_of(verify.app, str(root / "copy"))
    assert status == 3 and wanted in output, output
    in_place = output_of(verify.app, str(root / "server"))[1]
    changed = output_of(verify.app, str(root / "server"), str(root / "copy"))[1]
    assert "is outside of" not in in_place and "is outside of" not in changed


def test_a_comment_records_that_the_files_are_the_same(root: Path) -> None:
    main = root / "copy/conf/httpd.conf"
    line = "DocumentRoot"
    main.write_text(main.read_text().replace(f"\n{line}", f"\n# whimbrel: ignore[DIFF]\n{line}"))
    status, output = output_of(verify.app, str(root / "copy"))
    assert status == 0 and "1 unknown fact decided in the text: DIFF at " in output, output


def test_an_explanation_of_a_copy_says_whose_files_answer(root: Path) -> None:
    status, output = output_of(explain.app, "http://a.example/", "-d", str(root / "copy"))
    assert status == 3 and f"{root}/www is outside of {root}/copy" in output, output


def test_nothing_is_said_of_a_directory_that_is_not_here(root: Path) -> None:
    """It counts as an empty one, and is named as missing."""
    shutil.rmtree(root / "www")
    assert "is outside of" not in output_of(verify.app, str(root / "copy"))[1]
