"""Write docs/terminal.svg: commands of the walk on the example site, as a terminal shows them.

Usage: python -m tools.terminal_picture [FILE]. The commands run; a test compares another run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE: Final = Path(__file__).resolve().parents[1] / "docs/terminal.svg"
PREPARATION: Final = "whimbrel example site"
COMMANDS: Final = (
    "whimbrel check site --select C13,C08",
    "whimbrel upgrade -d site --out site-2.4",
    "whimbrel verify site site-2.4",
    "whimbrel explain http://localhost:8080/colony/ -d site-2.4",
)
HOME: Final = "/srv/www/example"
"""What the picture has in the place of a temporary directory of the same length."""
WIDTH: Final = 110
FONT_FACE: Final = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
"""Fonts of another host, which no picture loads."""


def session() -> str:
    """Return commands and output, with the sequences of colors."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}",
        "COLUMNS": str(WIDTH),
        "FORCE_COLOR": "1",
        "PAGER": "cat",
        "TERM": "xterm-256color",
    }
    shown = ""
    with tempfile.TemporaryDirectory(dir="/tmp") as directory:
        assert len(directory) == len(HOME), "columns would be displaced"
        for command in (PREPARATION, *COMMANDS):
            ran = subprocess.run(
                command.split(),
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            if command != PREPARATION:
                shown += f"\x1b[1m$ {command}\x1b[0m\n{ran.stdout.strip()}\n\n"
    return shown.replace(directory, HOME).strip()


def picture() -> str:
    """Return the picture."""
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(session()))
    drawn = console.export_svg(title="whimbrel", theme=MONOKAI, unique_id="whimbrel")
    return FONT_FACE.sub("", drawn)


def texts(drawn: str) -> list[str]:
    """Return the pieces of text of a picture."""
    return re.findall(r"<text [^>]*>(.*?)</text>", drawn)


if __name__ == "__main__":
    (Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE).write_text(picture(), encoding="utf-8")
