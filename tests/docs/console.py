"""The ``console`` blocks of a document, run in one shell: what follows ``$`` is typed, the other lines are expected.

A line of ``...`` stands for any lines, ``...`` within a line for any text. A block `console until Ctrl-C` has one command that goes on
until the page ends; its expected lines are waited for. A block with a path behind its language is a file, written
before the commands below it. Port 8080 of a page is a free one here.
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

BLOCK: Final = re.compile(r"^```(\w+)(?: (.+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK: Final = "---end-of-command---"
SECONDS: Final = 60
BACKGROUND: Final = "until Ctrl-C"
DOCUMENTED_PORT: Final = "8080"


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
    """Return True if *printed* is what a page shows; blanks at the start of lines may differ."""
    lines = []
    for line in expected.splitlines():
        pattern = re.escape(line.strip()).replace(r"\.\.\.", ".*")
        lines.append(r"(?:[^\n]*\n)*?" if line == "..." else rf"[ \t]*{pattern}[ \t]*\n")
    text = "".join(f"{line}\n" for line in printed.splitlines())
    return re.fullmatch("".join(lines), text) is not None


class Console:
    """A shell in a directory, with the commands of this environment on its PATH."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._port = str(free_port())
        self._background: list[tuple[subprocess.Popen[bytes], Path]] = []
        environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        environment |= {"NO_COLOR": "1", "TERM": "dumb"}
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
        for process, _output in self._background:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
        assert self._shell.stdin is not None
        self._shell.stdin.close()
        self._shell.wait(SECONDS)

    def run(self, step: Step) -> None:
        """Do what a page does; AssertionError if another text is printed."""
        if step.kind == "file":
            path = self._directory / step.expected
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._on_port(step.text), encoding="utf-8")
        elif step.kind == "background":
            self._start(step)
        else:
            printed = self._typed(step.text)
            assert is_as_expected(step.expected, printed), f"line {step.line}: $ {step.text}\n{printed}"

    def _on_port(self, text: str) -> str:
        return re.sub(rf"\b{DOCUMENTED_PORT}\b", self._port, text)

    def _typed(self, command: str) -> str:
        """Return what a command prints."""
        assert self._shell.stdin is not None and self._shell.stdout is not None
        is_request = command.startswith("curl ")
        self._shell.stdin.write(f"{self._on_port(command) if is_request else command}\n")
        self._shell.stdin.write(f"(exit_code=$?; printf '\\n%s\\n' {MARK}; exit $exit_code)\n")
        self._shell.stdin.flush()
        printed = "".join(iter(self._shell.stdout.readline, f"{MARK}\n"))
        return printed.replace(f":{self._port}", f":{DOCUMENTED_PORT}").rstrip("\n")

    def _start(self, step: Step) -> None:
        """Start a command, and wait for the lines that the page shows."""
        output = self._directory.parent / f"background-{len(self._background)}"
        words = step.text.split()
        if words[:2] == ["whimbrel", "serve"]:
            words += ["--port", f"{DOCUMENTED_PORT}={self._port}"]
        with output.open("wb") as stream:
            process = subprocess.Popen(
                words,
                cwd=self._directory,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        self._background.append((process, output))
        deadline = time.monotonic() + SECONDS
        while not is_as_expected(step.expected, self._shown(output)):
            assert process.poll() is None and time.monotonic() < deadline, self._shown(output)
            time.sleep(0.05)

    def _shown(self, output: Path) -> str:
        return output.read_text(encoding="utf-8").replace(f":{self._port}", f":{DOCUMENTED_PORT}")
