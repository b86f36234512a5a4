"""`whimbrel upgrade --interactive`: each change is shown and asked about before it is made."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

import typer

from whimbrel.cli.upgrade_output import described
from whimbrel.octets import to_system
from whimbrel.records import replace
from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.upgrade.difference import shown_path, unified
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.lines import Step, Trace
from whimbrel.upgrade.model import FileEdit, Finding

KEYS = "y yes, n no, e edit, a yes to all that follow, q no to all that follow"


class Asking:
    """The conversation; *rest* is the answer to everything that follows, once there is one."""

    def __init__(self, estate: Estate) -> None:
        self.root = estate.root
        self.rest: bool | None = None

    def ask(self, finding: Finding, estate: Estate) -> Finding | None:
        """The finding as it is to be applied, None for not at all."""
        if self.rest is not None:
            return finding if self.rest else None
        for line in described(finding, self.root):
            typer.echo(to_system(line) if line.isascii() else line)
        typer.echo(self._diff(finding, estate).decode("utf-8", "replace"), nl=False)
        while True:
            answer = typer.prompt(f"Make this change? [{KEYS}]", default="y").strip().lower()[:1]
            if answer in ("y", "n"):
                return finding if answer == "y" else None
            if answer in ("a", "q"):
                self.rest = answer == "a"
                return finding if self.rest else None
            if answer == "e":
                return replace(finding, edits=tuple(self._edited(finding, estate)))

    def _diff(self, finding: Finding, estate: Estate) -> bytes:
        out = []
        for path, edits in _by_file(finding).items():
            old, trace = estate.files[path].document.bytes, Trace()
            trace.steps.append(Step(old, edits))
            out.append(unified(shown_path(path, self.root), old, apply(old, [Group(tuple(edits))]), trace))
        return b"".join(out)

    def _edited(self, finding: Finding, estate: Estate) -> list[FileEdit]:
        """For each file the stretch that changes, upgraded, in the user's editor; what comes back takes its place."""
        found = []
        for path, edits in _by_file(finding).items():
            data = estate.files[path].document.bytes
            start = data.rfind(b"\n", 0, min(edit.start for edit in edits)) + 1
            end = data.find(b"\n", max(edit.end for edit in edits)) + 1 or len(data)
            moved = tuple(Edit(edit.start - start, edit.end - start, edit.text) for edit in edits)
            text = _in_editor(apply(data[start:end], [Group(moved)]))
            found.append(FileEdit(path, Edit(start, end, text)))
        return found


def _by_file(finding: Finding) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for one in finding.edits:
        found.setdefault(one.path, []).append(one.edit)
    return found


def _in_editor(data: bytes) -> bytes:
    """*data* after $VISUAL or $EDITOR had it; raises BadParameter when that fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.NamedTemporaryFile(suffix=".conf", delete=False) as file:
        file.write(data)
    try:
        if subprocess.run([*shlex.split(command), file.name], check=False).returncode:
            raise typer.BadParameter(f"{command} failed")
        with open(file.name, "rb") as again:
            return again.read()
    finally:
        os.unlink(file.name)
