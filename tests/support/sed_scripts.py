"""Sed scripts, the documents that they run on, and what apache2 answered."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DOCUMENTS: Final = {
    "a.txt": "The curlew aab abab foo.\nfoo line: a/b|c 12 345 xx\nbar aaaa oob bb\n\nsecond foo $^[]\\*\n"
    "last line with foo and a",
    "b.txt": "one\ntwo foo\nthree\nfoo\nfive\n",
    "c.txt": "x",
    "d.txt": "\n\n",
    "e.bin": "a\xc3\xa9\x00b\nfoo \x01\x09\x1b\x7f o\xff\n" + "long " * 40 + "\nz\x00foo\n",
}
INSERTED: Final = "inserted file\nno newline"  # the content of @/ins.txt


@dataclass(frozen=True)
class RecordedScript:
    """A script: the arguments of its OutputSed lines (``${NL}`` is a newline, ``@`` a directory), and the
    answer for each document: its text, or the status of an error.
    """

    lines: tuple[str, ...]
    answers: dict[str, str | int]

    @property
    def directives(self) -> str:
        """Return the OutputSed lines."""
        quoted = (line.replace("\\", "\\\\").replace('"', '\\"') for line in self.lines)
        return "".join(f'OutputSed "{line}"\n' for line in quoted)


def sed_scripts() -> list[RecordedScript]:
    """Return the recorded scripts."""
    path = Path(__file__).parent.parent / "data/sed/scripts.jsonl"
    rows = map(json.loads, path.read_text("ascii").splitlines())
    return [RecordedScript(tuple(row["script"]), row["answers"]) for row in rows]
