"""Texts of 2.2 of files that a person corrected after an upgrade: proved by the digests of the journal."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path

import pytest

from whimbrel.upgrade.apply.file_digests import FileDigests
from whimbrel.upgrade.apply.journal import Journal, WriteError
from whimbrel.upgrade.apply.left_decisions import LeftDecision
from whimbrel.upgrade.apply.state_directory import StateDirectory
from whimbrel.verify import texts_before_upgrade as texts
from whimbrel.verify.texts_before_upgrade import MAX_LINES, restored_texts

OLD = "Options None\nOrder deny,allow\nDeny from all\nSetEnv a b\nFileETag INode\nErrorDocument 404 /x\n"
ACCESS = ("Order deny,allow", "Deny from all")
ETAG = ("FileETag INode",)


def left(path: str, line: int, about: tuple[str, ...], *, is_written: bool = False) -> LeftDecision:
    return LeftDecision("C17", path, line, "m", "a", "opens access", "d", (), about, (), is_written)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "site").mkdir()
    return tmp_path / "site/file.conf"


def restored(
    file: Path,
    present: str | None,
    *decisions: LeftDecision,
    old: str = OLD,
    backed_up: Container[str] = (),
) -> str | None:
    """Return the text of 2.2 of a file with the text *present*, None if it is not proved; of the present text
    None is no file.
    """
    if present is not None:
        file.write_text(present)
    directory = str(file.parent)
    read = {str(file): FileDigests.of(old.encode())}
    Journal(StateDirectory(directory), read=read, left=decisions).save("done", lambda *_: None)
    found = restored_texts(directory, backed_up)
    assert set(found) <= {str(file)}
    return found[str(file)].decode() if found else None


@pytest.mark.parametrize(
    ("lines", "replacement"),
    [
        ("Order deny,allow\nDeny from all\n", "Require all denied\n"),
        ("Order deny,allow\nDeny from all\n", "Require all denied\nRequire ip 192.0.2.1\nSetEnv c d\n"),
        ("Order deny,allow\nDeny from all\n", ""),
        ("Options None\nOrder deny,allow\nDeny from all\n", ""),
        ("FileETag INode\n", "FileETag All\n"),
        ("FileETag INode\nErrorDocument 404 /x\n", ""),
        ("Order deny,allow\nDeny from all\nSetEnv a b\nFileETag INode\n", "Require all denied\n"),
    ],
)
def test_the_lines_of_a_decision_come_back(file: Path, lines: str, replacement: str) -> None:
    """Where the lines of the decisions are put in the place of others, the rest is that of the journal."""
    about = tuple(lines.splitlines())
    decisions = (left(str(file), 2, about), left(str(file), 9, ("Listen 80",)))
    assert restored(file, OLD.replace(lines, replacement), *decisions) == OLD


def test_the_lines_of_several_decisions_come_back_in_the_order_of_the_text(file: Path) -> None:
    old = OLD.replace("SetEnv a b\n", "")
    decisions = (left(str(file), 4, ETAG), left(str(file), 2, ACCESS))
    present = "Options None\nRequire all denied\nErrorDocument 404 /x\n"
    assert restored(file, present, *decisions, old=old) == old


def test_comments_stay(file: Path) -> None:
    present = OLD.replace("\n".join(ACCESS), "# by hand\nRequire all denied").replace(
        "SetEnv", "# kept\nSetEnv"
    )
    text = restored(file, present, left(str(file), 2, ACCESS))
    assert text is not None and text.splitlines()[1:5] == ["# by hand", *ACCESS, "# kept"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# nothing", ""),  # the text has not changed
        ("SetEnv a b", "SetEnv a c"),
        ("Deny from all\nSetEnv a b\nFileETag INode\n", "SetEnv a b\n"),
    ],
)
def test_another_text_is_not_proved(file: Path, old: str, new: str) -> None:
    """The lines that no decision is about are another text, or two places have changed."""
    present = OLD.replace(old, new)
    decisions = left(str(file), 2, ACCESS), left(str(file), 5, ETAG)
    assert restored(file, present, *decisions) is None


def test_other_files_are_not_looked_for(file: Path) -> None:
    """Files with a backup; lines that the upgrade wrote; files that it has not read; files of many lines."""
    present = OLD.replace("\n".join(ACCESS), "Require all denied")
    one = left(str(file), 2, ACCESS)
    assert restored(file, present, one) == OLD
    assert restored(file, present, one, backed_up=(str(file),)) is None
    assert restored(file, present, one._replace(is_written=True)) is None
    assert restored(file, present, one._replace(about=())) is None
    assert restored(file, present, one._replace(path=f"{file}.other")) is None
    for count, is_proved in ((MAX_LINES, True), (MAX_LINES + 1, False)):
        more = "\n".join(f"SetEnv x{number} y" for number in range(count - len(present.split("\n")))) + "\n"
        text = restored(file, more + present, one, old=more + OLD)
        assert (text == more + OLD) is is_proved


def test_a_file_that_is_gone_had_the_lines_of_its_decisions(file: Path) -> None:
    text = restored(file, None, left(str(file), 1, ACCESS), old="\n".join(ACCESS))
    assert text is not None and text.strip().splitlines() == [*ACCESS]


def test_a_backup_of_another_upgrade_has_a_way_out(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree that was put back has backups that the journal of its path does not prove."""

    def refuse(_directory: str) -> dict[str, bytes]:
        raise WriteError("x.whimbrel-2.2~ has changed since it was saved: nothing was undone")

    monkeypatch.setattr(texts, "saved", refuse)
    with pytest.raises(WriteError, match="verify OLD NEW") as found:
        texts.texts_before_upgrade(str(file.parent))
    assert "undone" not in str(found.value)
