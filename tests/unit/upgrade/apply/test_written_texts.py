"""Texts that an upgrade wrote are for 2.4: what 2.2 does with them is no finding of the next check.

Expected: 2.2 refuses the flags BCTLS and BNP of 2.4.59 ("RewriteRule: unknown flag"), and AuthMerging.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.upgrade.apply.left_decisions import LEFT
from whimbrel.upgrade.apply.written_texts import is_written_by_upgrade

RULE = "RewriteEngine On\nRewriteRule ^(.*)$ index.php?/$1 [L]\n"
PAIR = "AuthMerging And\n"


def of_rule(rule: str, path: Path) -> list[str]:
    """Return the messages of the findings of a rule."""
    done = warm_command.run(["check", "--format", "json", str(path)], cwd=path.parent)
    return [one["message"] for one in json.loads(done.stdout)["findings"] if one["rule"] == rule]


def check(path: Path) -> list[str]:
    """Return the messages of X22 about a file."""
    return of_rule("X22", path)


def upgrade(*words: str, cwd: Path) -> None:
    done = warm_command.run(["upgrade", *words], cwd=cwd)
    assert b"Traceback" not in done.stderr, done.stderr.decode()


@pytest.mark.parametrize("named", [".htaccess", "."])
def test_a_second_check_finds_no_line_that_the_upgrade_wrote(tmp_path: Path, named: str) -> None:
    file = tmp_path / ".htaccess"
    file.write_text(RULE)
    assert not check(file)
    upgrade("--write", named, cwd=tmp_path)
    assert "BNP" in file.read_text()
    assert is_written_by_upgrade(str(file), "")
    assert not check(file)
    file.write_text(f"# a comment\n{file.read_text()}Options None\n")  # a person goes on from there
    assert not check(file)


def test_the_journal_of_a_directory_above_counts(tmp_path: Path) -> None:
    below = tmp_path / "a/b"
    below.mkdir(parents=True)
    (below / ".htaccess").write_text(RULE)
    upgrade("--write", str(tmp_path), cwd=tmp_path)
    assert "BNP" in (below / ".htaccess").read_text()
    assert not check(below / ".htaccess")
    (tmp_path / ".htaccess").write_text(PAIR)
    assert len(check(tmp_path / ".htaccess")) == 1


def test_what_was_found_before_stays_open(tmp_path: Path) -> None:
    """Of 2.2 the directory answered 500: that 2.4 serves it stays a question."""
    file = tmp_path / ".htaccess"
    file.write_text(PAIR + RULE)
    assert len(check(file)) == 1
    upgrade("--write", str(file), cwd=tmp_path)
    assert "BNP" in file.read_text()
    (left,) = check(file)
    assert left.startswith(LEFT)
    upgrade("--undo", str(file), cwd=tmp_path)
    (found,) = check(file)
    assert not found.startswith(LEFT) and not is_written_by_upgrade(str(file), "")


def test_a_handler_that_no_version_had_is_no_finding_after_the_upgrade(tmp_path: Path) -> None:
    """2.2 without mod_imagemap sends .map files as they are; 2.4 does the same with the new text."""
    main = tmp_path / "conf/httpd.conf"
    main.parent.mkdir()
    main.write_text(
        "Listen 80\nLoadModule mime_module modules/mod_mime.so\nAddHandler imap-file map\nDocumentRoot /srv\n"
    )
    assert not of_rule("R14", tmp_path)
    upgrade("--write", str(tmp_path), cwd=tmp_path)
    assert "authz_core_module" in main.read_text()
    assert not of_rule("R14", tmp_path)
    of_24 = tmp_path / "other/conf/httpd.conf"
    of_24.parent.mkdir(parents=True)
    of_24.write_text(main.read_text())
    assert len(of_rule("R14", tmp_path / "other")) == 1


def test_the_journal_of_the_server_counts_for_its_documents_elsewhere(tmp_path: Path) -> None:
    """2.2 without mod_imagemap sends .map files as they are, in a .htaccess file too."""
    documents = tmp_path / "www"
    documents.mkdir()
    own = documents / ".htaccess"
    own.write_text("AddHandler imap-file map\nOrder allow,deny\nAllow from all\n")
    main = tmp_path / "etc/conf/httpd.conf"
    main.parent.mkdir(parents=True)
    main.write_text(
        f"ServerRoot {tmp_path}/etc\nListen 80\nLoadModule mime_module modules/mod_mime.so\n"
        f"DocumentRoot {documents}\n<Directory {documents}>\nAllowOverride All\n</Directory>\n"
    )
    assert not of_rule("R14", tmp_path / "etc")
    upgrade("--write", "--outside", str(tmp_path / "etc"), cwd=tmp_path)
    assert "Order" not in own.read_text() and is_written_by_upgrade(str(own), str(tmp_path / "etc"))
    assert not of_rule("R14", tmp_path / "etc")
