"""`whimbrel upgrade --interactive`: show each change and ask for confirmation before it is applied."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile

import typer

from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.programs import programs_permitted, require_programs
from whimbrel.base.terminal_text import terminal_bytes
from whimbrel.cli.options import encoded
from whimbrel.cli.upgrade_output import finding_lines
from whimbrel.syntax.edits import Edit, Group, apply
from whimbrel.upgrade.edits.diff import display_path, unified_diff
from whimbrel.upgrade.model import FileEdit, Finding
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.line_map import LineEdits, LineMap

KEYS = "y yes, n no, e edit, a yes to all that follow, q no to all that follow"


class Prompt:
    """Dialog with the user; *rest* is the reply to all further questions, once it is given."""

    def __init__(self, tree: ConfigTree) -> None:
        self.root = tree.root
        self.answer_for_rest: bool | None = None

    def confirm(self, finding: Finding, tree: ConfigTree, _original: SourceLocation) -> Finding | None:
        """Return the finding to apply, None to skip it."""
        if self.answer_for_rest is not None:
            return finding if self.answer_for_rest else None
        for line in finding_lines(finding, self.root):
            typer.echo(terminal_bytes(line))
        typer.echo(encoded(to_text(self._diff(finding, tree))), nl=False)
        while True:
            answer = typer.prompt(f"Make this change? [{KEYS}]", default="y").strip().lower()[:1]
            if answer in ("y", "n"):
                return finding if answer == "y" else None
            if answer in ("a", "q"):
                self.answer_for_rest = answer == "a"
                return finding if self.answer_for_rest else None
            if answer == "e":
                return replace(finding, edits=tuple(self._edited(finding, tree)))

    def _diff(self, finding: Finding, tree: ConfigTree) -> bytes:
        out = []
        for path, edits in _by_file(finding).items():
            old_bytes = tree.files[path].document.bytes
            line_map = LineMap()
            line_map.steps.append(LineEdits(old_bytes, edits))
            out.append(
                unified_diff(
                    display_path(path, self.root),
                    old_bytes,
                    apply(old_bytes, [Group(tuple(edits))]),
                    line_map,
                )
            )
        return b"".join(out)

    def _edited(self, finding: Finding, tree: ConfigTree) -> list[FileEdit]:
        """Return the edits with the new text of each file as changed in the user's editor."""
        file_edits = []
        for path, edits in _by_file(finding).items():
            data = tree.files[path].document.bytes
            start = data.rfind(b"\n", 0, min(edit.start for edit in edits)) + 1
            end = data.find(b"\n", max(edit.end for edit in edits)) + 1 or len(data)
            moved = tuple(Edit(edit.start - start, edit.end - start, edit.text) for edit in edits)
            text = _in_editor(apply(data[start:end], [Group(moved)]))
            file_edits.append(FileEdit(path, Edit(start, end, text)))
        return file_edits


def _by_file(finding: Finding) -> dict[str, list[Edit]]:
    by_file: dict[str, list[Edit]] = {}
    for file_edit in finding.edits:
        by_file.setdefault(file_edit.path, []).append(file_edit.edit)
    return by_file


def _in_editor(data: bytes) -> bytes:
    """Return *data* as edited with $VISUAL or $EDITOR; raises BadParameter if the editor fails."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with programs_permitted():  # the user's own editor
        return _edited(data, command)


def _edited(data: bytes, command: str) -> bytes:
    with tempfile.NamedTemporaryFile(suffix=".conf", delete=False) as file:
        file.write(data)
    try:
        require_programs()
        if subprocess.run([*shlex.split(command), file.name], check=False).returncode:
            raise typer.BadParameter(f"{command} failed")
        with open(file.name, "rb") as edited:
            return edited.read()
    finally:
        os.unlink(file.name)
