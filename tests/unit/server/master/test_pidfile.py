"""The PidFile."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.server.master import pidfile


# PidFile -----------------------------------------------------------------------------------------
def test_pid_file(tmp_path: Path) -> None:
    path = str(tmp_path / "pid")
    assert pidfile.read(path) is None
    pidfile.publish(path, pidfile.prepare(path, 4711))
    assert (tmp_path / "pid").read_text() == "4711\n"
    assert (tmp_path / "pid").stat().st_mode & 0o777 == 0o644
    assert not pidfile.remove(path, 1)
    assert pidfile.read(path) == 4711
    assert pidfile.remove(path, 4711)
    assert pidfile.read(path) is None


@pytest.mark.parametrize("text", ["12x\n", "12\nabc\n", "12", "12" + " " * 22])
def test_a_number_at_the_beginning_counts(tmp_path: Path, text: str) -> None:
    """As apache2 2.4.71 -k stop reads them; it refuses files of 25 bytes."""
    (tmp_path / "pid").write_text(text)
    assert pidfile.read(str(tmp_path / "pid")) == 12


@pytest.mark.parametrize("text", ["garbage\n", "", "-5\n", "0\n", " 12\n", "12" + " " * 23])
def test_garbage_in_the_pid_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "pid").write_text(text)
    with pytest.raises(pidfile.BadPidFile):
        pidfile.read(str(tmp_path / "pid"))
