"""A tree that an upgrade wrote is not ready while nothing shows what the upgrade left to decide."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support import warm_command

from whimbrel.upgrade.apply.journal import JOURNAL
from whimbrel.upgrade.apply.state_directory import StateDirectory
from whimbrel.upgrade.apply.transaction import undo, write
from whimbrel.upgrade.apply.unread_journal import unread_journal

TEXT = "Listen 80\nFileETag MTime Size\nLoadModule mpm_prefork_module modules/mod_mpm_prefork.so\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A server that an upgrade has written."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "web"
    (root / "conf").mkdir(parents=True)
    (root / "conf/httpd.conf").write_bytes(b"Port 80\n")
    write({f"{root}/conf/httpd.conf": TEXT.encode()}, str(root))
    return root


def subjects(tree: Path) -> list[str]:
    return [item.subject for item in unread_journal(str(tree), [f"{tree}/conf/httpd.conf"])]


def test_a_journal_that_is_read(tree: Path) -> None:
    assert subjects(tree) == []


def test_a_damaged_journal(tree: Path) -> None:
    journal = Path(StateDirectory(str(tree)).path, JOURNAL)
    journal.write_text("{")
    assert subjects(tree) == [f"{journal} is no journal of an upgrade"]
    printed = warm_command.run(["upgrade", "-d", str(tree)], cwd="/")
    output = printed.stdout + printed.stderr
    assert b"what the upgrade left to decide is not known" in output
    assert b"ready for 2.4: yes" not in output


def test_no_journal(tree: Path) -> None:
    """The backups show that the text is that of an upgrade, which may have asked questions."""
    shutil.rmtree(StateDirectory(str(tree)).path)
    (found,) = subjects(tree)
    assert found == (f"{tree}/conf/httpd.conf.whimbrel-2.2~ is of an upgrade, whose journal is not here")
    (tree / "conf/httpd.conf").write_bytes(b"# by hand\nPort 80\n")  # the text of 2.2 again
    assert subjects(tree) == []


def test_an_upgrade_that_was_undone(tree: Path) -> None:
    undo(str(tree))
    assert subjects(tree) == []


def test_documents_outside_of_the_tree_are_of_its_journal(tree: Path) -> None:
    """--outside writes .htaccess files beside the documents: the journal is that of the server root."""
    outside = tree.parent / "htdocs/.htaccess"
    outside.parent.mkdir()
    outside.write_bytes(b"Deny from all\n")
    write({str(outside): b"Require all denied\n"}, str(tree), is_open=True)
    assert [item.subject for item in unread_journal(str(tree), [str(outside)])] == []
    other = tree.parent / "other"
    other.mkdir()
    (found,) = unread_journal(str(other), [str(outside)])
    assert "whose journal is not here" in found.subject
