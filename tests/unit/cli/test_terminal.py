"""Output to a terminal, through a pager."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from fcntl import ioctl
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from tests.support.samples import some
from typer.testing import CliRunner

from whimbrel.cli import check, replay, terminal, upgrade, verify
from whimbrel.cli.main import COMMANDS

PROGRAM = """
import sys
from whimbrel.base.confinement import confine
confine()
from whimbrel.cli.terminal import write_text
write_text("".join(f"line {number}\\n" for number in range(int(sys.argv[1]))), may_page=sys.argv[2] == "yes")
"""


def run_on_terminal(lines: int, pager: str, *, may_page: bool = True, term: str = "xterm") -> str:
    """Return what a terminal of 10 lines gets."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 10, 40, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(lines), "yes" if may_page else "no"],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "PAGER": pager, "TERM": term},
    )
    os.close(slave)
    out = bytearray()
    end = time.monotonic() + 30
    while time.monotonic() < end and select.select([master], [], [], 30)[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    os.close(master)
    assert process.wait(30) == 0
    return out.decode().replace("\r\n", "\n")


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """Return a pager that marks what it shows."""
    script = tmp_path / "pager"
    script.write_text("#!/bin/sh\nsed 's/^/paged /'\n")
    script.chmod(0o755)
    return str(script)


def test_long_output_goes_through_the_pager(pager: str) -> None:
    assert run_on_terminal(12, pager) == "".join(f"paged line {number}\n" for number in range(12))


def test_short_output_dumb_terminals_and_the_option_do_without(pager: str) -> None:
    plain = "".join(f"line {number}\n" for number in range(12))
    assert run_on_terminal(5, pager) == "".join(f"line {number}\n" for number in range(5))
    assert run_on_terminal(12, pager, may_page=False) == plain
    assert run_on_terminal(12, pager, term="dumb") == plain
    assert run_on_terminal(12, "cat") == plain


@pytest.mark.parametrize("broken", ["/nonexistent/pager", "false", "'unbalanced", ""])
def test_a_broken_pager_loses_nothing(broken: str) -> None:
    assert run_on_terminal(12, broken).endswith("".join(f"line {number}\n" for number in range(12)))


def test_a_pipe_has_no_pager(pager: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM, "12", "yes"],
        env={**os.environ, "PAGER": pager},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.startswith("line 0\n")


CONFIGURATION = """LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authz_core_module modules/mod_authz_core.so
ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:8080
DefaultType text/plain
"""
LOGGED = '10.1.2.3 - - [29/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 404 210\n'


@pytest.mark.parametrize("command", ["upgrade", "verify", "replay", "check"])
def test_long_reports_of_commands_are_paged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "conf" / "httpd.conf").write_text(CONFIGURATION.format(root=tmp_path))
    (tmp_path / "access_log").write_text(LOGGED)
    words = {
        "upgrade": ["-d", str(tmp_path)],
        "verify": [str(tmp_path), "--old-dialect", "2.4"],
        "replay": [str(tmp_path / "access_log"), "--new", str(tmp_path), "--old-dialect", "2.4", "-j", "1"],
        "check": ["-d", str(tmp_path)],
    }[command]
    paged: list[bytes] = []

    def was_paged(data: bytes) -> bool:
        paged.append(data)
        return True

    monkeypatch.setattr(terminal, "_exceeds_screen", lambda _data: True)
    monkeypatch.setattr(terminal, "_was_paged", was_paged)
    app = import_module(COMMANDS[command]).app
    CliRunner().invoke(app, words)
    assert len(paged) == 1 and len(paged[0]) > 20
    printed = CliRunner().invoke(app, [*words, "--no-pager"])
    assert len(paged) == 1 and paged[0].decode() in printed.output


COMMAND = [sys.executable, "-c", "from whimbrel.cli.main import main; main()"]


PIPE = 65536
"""Bytes that a pipe of Linux holds."""


@pytest.fixture(scope="module")
def undecided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fragment with findings that fill a pipe."""
    file = tmp_path_factory.mktemp("undecided") / "fragment.conf"
    file.write_text("".join(f"DefaultType a/b{number}\n" for number in range(1000)))
    return file


@cache
def whole_run(*words: str) -> subprocess.CompletedProcess[bytes]:
    """Return the result of a command whose output is read to its end; it fills a pipe."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, check=False)
    assert len(done.stdout) > PIPE
    return done


@pytest.mark.parametrize("words", some([["check"], ["check", "--format", "json"]], 1))
def test_a_reader_that_ends_changes_no_exit_code(undecided: Path, words: list[str]) -> None:
    words = [*words, str(undecided)]
    whole = whole_run(*words)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (whole.returncode, whole.stderr)


@pytest.mark.parametrize("closed", some([(0, 1, 2), (1,), (2,)], 1))
def test_closed_standard_files(undecided: Path, closed: tuple[int, ...]) -> None:
    """`>&-` of a shell: there is no traceback, and no file of the command has the number of an output."""
    before = undecided.read_bytes()
    whole = whole_run("check", str(undecided))
    closing = (
        "import os, sys; [os.close(int(one)) for one in sys.argv.pop(1)]; os.execv(sys.argv[1], sys.argv[1:])"
    )
    words = [sys.executable, "-c", closing, "".join(map(str, closed)), *COMMAND, "check", str(undecided)]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (whole.returncode, b"")
    assert done.stdout == (b"" if 1 in closed else whole.stdout)
    assert undecided.read_bytes() == before


PAGE_CONF = (
    "Listen 80\nServerName a.example\nDocumentRoot htdocs\n<Location />\nOrder deny,allow\n</Location>\n"
)
PAGE_LOG = '192.0.2.1 - - [30/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 "-" "-"\n'


@pytest.fixture
def page_sites(tmp_path: Path) -> Path:
    for name in ("fleet/one", "fleet/two"):
        root = tmp_path / name
        (root / "conf").mkdir(parents=True)
        (root / "htdocs").mkdir()
        (root / "conf/httpd.conf").write_text(PAGE_CONF)
    (tmp_path / "access_log").write_text(PAGE_LOG)
    return tmp_path


@pytest.mark.parametrize(
    ("app", "words", "begin"),
    [
        (check.app, ["fleet/one"], "2.4 does not start: "),
        (upgrade.app, ["fleet/one"], "ready for 2.4: "),
        (upgrade.app, ["fleet/one", "--write"], "ready for 2.4: "),
        (upgrade.app, ["fleet/one", "--out", "new"], "ready for 2.4: "),
        (verify.app, ["fleet/one", "fleet/two"], ""),
        (replay.app, ["access_log", "--old", "fleet/one", "--new", "fleet/two", "-j", "1"], ""),
        (check.app, ["--fleet", "fleet"], "2 servers: 2 with findings"),
        (upgrade.app, ["--fleet", "fleet"], "2 servers: 2 with changes to make"),
    ],
)
def test_a_page_leaves_one_line_to_the_terminal(
    app: object, words: list[str], begin: str, page_sites: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`COMMAND --format html > FILE`: FILE has the page and nothing else, the terminal its result."""
    monkeypatch.chdir(page_sites)
    found = CliRunner().invoke(app, [*words, "--format", "html"])  # type: ignore[arg-type]
    assert found.exit_code in (0, 1, 2, 3)  # 2: the new text does not load
    assert found.stdout.startswith("<!DOCTYPE html>") and found.stdout.rstrip().endswith("</html>")
    (line,) = found.stderr.splitlines()
    assert line.startswith(begin)
    result = line.removeprefix("2.4 does not start: ")  # the badge in front of the sentence
    assert result in " ".join(found.stdout.split()).replace("&#39;", "'")
