"""Permission to start programs, and the confinement of commands."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from whimbrel.base import programs

CONFINED = """
import os, subprocess, sys
from whimbrel.base.confinement import confine
from whimbrel.base.file_writing import write_named
from whimbrel.base.programs import permit_programs, programs_permitted
confine()
top = sys.argv[1]
def refused(work):
    try:
        work()
    except PermissionError:
        return
    print("not refused", work)
for work in (
    lambda: subprocess.run(["/bin/true"]),
    lambda: os.system("true"),
    lambda: os.posix_spawn("/bin/true", ["true"], {}),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: open(top + "/a", "w"),
    lambda: open(top + "/old", "r+"),
    lambda: os.open(top + "/b", os.O_CREAT | os.O_WRONLY),
    lambda: os.mkdir(top + "/c"),
    lambda: os.unlink(top + "/old"),
    lambda: os.rename(top + "/old", top + "/d"),
    lambda: os.symlink("x", top + "/e"),
    lambda: os.link(top + "/old", top + "/f"),
    lambda: os.chmod(top + "/old", 0o777),
    lambda: os.truncate(top + "/old", 0),
):
    refused(work)
open("/dev/null", "w").close()
assert open(top + "/old").read() == "old"
write_named(os.fsencode(top + "/named"), b"named")
with programs_permitted():
    assert subprocess.run(["/bin/true"]).returncode == 0
refused(lambda: os.mkdir(top + "/g"))
print("end")
"""


def test_a_process_starts_without_permission() -> None:
    code = "from whimbrel.base.programs import may_start_programs as m; print(m())"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


def test_contexts_forbid_and_permit_in_threads_too() -> None:
    with programs.without_programs():
        assert not programs.may_start_programs()
        assert programs.permitted([b"x"]) is None
        with pytest.raises(PermissionError):
            programs.require_programs()
        with programs.programs_permitted():
            assert programs.permitted([b"x"]) == [b"x"]
        assert not programs.may_start_programs()
    code = (
        "import threading\nfrom whimbrel.base import programs\nseen = []\n"
        "with programs.programs_permitted():\n"
        " t = threading.Thread(target=lambda: seen.append(programs.may_start_programs()))\n"
        " t.start(); t.join()\nprint(seen)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[False]\n"
    assert threading.active_count() >= 1


def test_reported_programs_raise() -> None:
    with programs.reported_programs(), pytest.raises(programs.ProgramReported):
        programs.permitted([b"x"])


def test_a_confined_process_starts_nothing_and_writes_through_one_function(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    command = [sys.executable, "-c", CONFINED, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (found.stdout, found.stderr) == ("end\n", "")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["named", "old"]
