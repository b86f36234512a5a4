"""docs/terminal.svg shows what the commands print; `python -m tools.terminal_picture` draws it anew."""

from __future__ import annotations

import shutil

import pytest
from tools.terminal_picture import PICTURE, picture, texts


@pytest.mark.skipif(shutil.which("cat") is None, reason="no cat here: it is the pager of the picture")
def test_the_picture_shows_another_run() -> None:
    shown = PICTURE.read_text(encoding="utf-8")
    assert texts(shown) == texts(picture())
    assert sum("$&#160;whimbrel" in text for text in texts(shown)) == 4
    assert "@font-face" not in shown and "<script" not in shown
