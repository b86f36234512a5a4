"""The ``console`` blocks of a document, run in one shell: lines behind ``$`` are typed, others are expected.

A line of ``...`` stands for any lines, ``...`` within a line for any text. A block `console until Ctrl-C` has
one command that goes on until the page ends; its expected lines are waited for. A block with a path behind
its language is a file, written before the commands below it. Ports 8080 (server) and 9000 (a back end)
are free ones here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.meta.tree import ROOT
from whimbrel.testing.ports import free_port

BLOCK: Final = re.compile(r"^```(\w+)(?: ([^\n]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK: Final = "---end-of-command---"
SECONDS: Final = 60
BACKGROUND: Final = "until Ctrl-C"
SERVER_PORT: Final = "8080"
BACKEND_PORT: Final = "9000"


class Step(NamedTuple):
    """One block of a file, or one command.

    Attributes:
        kind: "file", "command" or "background".
        text: the text of the file, or the command.
        expected: what it prints; for a file its path.
        line: its place in the document.
    """

    kind: str
    text: str
    expected: str
    line: int


def steps(page: str) -> Iterator[Step]:
    """Yield the files and commands of a document of docs/ in their order."""
    document = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for block in BLOCK.finditer(document):
        line = document.count("\n", 0, block.start(3)) + 1
        if block[1] == "console":
            kind = "background" if block[2] == BACKGROUND else "command"
            for part in re.split(r"^\$ ", block[3], flags=re.M)[1:]:
                command, _, expected = part.partition("\n")
                yield Step(kind, command, expected, line)
        elif block[2]:
            yield Step("file", block[3], block[2], line)


def is_as_expected(expected: str, printed: str) -> bool:
    """Return True if *printed* is what a page shows; runs of blanks may differ in their lengths."""
    lines = []
    for line in expected.splitlines():
        pattern = r"[ \t]+".join(re.escape(word) for word in line.split()).replace(r"\.\.\.", ".*")
        lines.append(r"(?:[^\n]*\n)*?" if line == "..." else rf"[ \t]*{pattern}[ \t]*\n")
    text = "".join(f"{line}\n" for line in printed.splitlines())
    return re.fullmatch("".join(lines), text) is not None


class Console:
    """A shell in a directory, with the commands of *programs* on its PATH; default: of this environment."""

    def __init__(self, directory: Path, programs: Path | None = None) -> None:
        self._directory = directory
        self._ports = {SERVER_PORT: str(free_port()), BACKEND_PORT: str(free_port())}
        self._background: list[subprocess.Popen[bytes]] = []
        environment = {
            name: value
            for name, value in os.environ.items()
            if name != "COLUMNS" and not name.startswith("PYTHON")
        }
        environment["PATH"] = f"{programs or Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment |= {"NO_COLOR": "1", "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
        self._environment = environment
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_error: object) -> None:
        """End the commands of the background as Ctrl-C does, then the shell."""
        for process in self._background:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait(SECONDS)

    def check_step(self, step: Step) -> None:
        """Do what a page does; AssertionError if another text is printed."""
        if step.kind == "file":
            path = self._directory / step.expected
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._own(step.text, BACKEND_PORT), encoding="utf-8")
        elif step.kind == "background":
            self._start(step)
        else:
            printed = self._typed(step.text)
            assert is_as_expected(step.expected, printed), f"line {step.line}: $ {step.text}\n{printed}"

    def _own(self, text: str, *names: str) -> str:
        """Return *text* with ports of this console in the place of documented ones."""
        for name in names:
            text = re.sub(rf"\b{name}\b", self._ports[name], text)
        return text

    def _documented(self, text: str) -> str:
        """Return *text* with documented ports."""
        for name, port in self._ports.items():
            text = re.sub(rf"\b{port}\b", name, text)
        return text

    def _typed(self, command: str) -> str:
        """Return what a command prints."""
        assert self._shell.stdin is not None and self._shell.stdout is not None
        names = (SERVER_PORT, BACKEND_PORT) if command.startswith("curl ") else (BACKEND_PORT,)
        self._shell.stdin.write(f"{self._own(command, *names)}\n")
        self._shell.stdin.write(f"(exit_code=$?; printf '\\n%s\\n' {MARK}; exit $exit_code)\n")
        self._shell.stdin.flush()
        printed = "".join(iter(self._shell.stdout.readline, f"{MARK}\n"))
        return self._documented(printed).rstrip("\n")

    def _start(self, step: Step) -> None:
        """Start a command, and wait for the lines that the page shows."""
        output = self._directory.parent / f"background-{len(self._background)}"
        words = self._own(step.text, BACKEND_PORT).split()
        if words[:2] == ["whimbrel", "serve"]:
            words += ["--port", f"{SERVER_PORT}={self._ports[SERVER_PORT]}"]
        with output.open("wb") as stream:
            process = subprocess.Popen(
                words,
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        self._background.append(process)
        deadline = time.monotonic() + SECONDS
        while not is_as_expected(step.expected, self._documented(output.read_text(encoding="utf-8"))):
            assert process.poll() is None and time.monotonic() < deadline, output.read_text(encoding="utf-8")
            time.sleep(0.05)
