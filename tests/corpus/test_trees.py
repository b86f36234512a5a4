"""Whole configuration directories of real servers: each loads, or fails with the message that httpd gives.

A tree is copied, its absolute paths pointed to the copy, and asked with -t. Where this machine has Debian's
apache2, it is asked the same question.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.corpus.configurations import roots
from tests.corpus.httpd_check import (
    APACHE,
    MODULES,
    comment_out_culprit,
    copy_tree,
    needs_apache,
    run_check,
)


@pytest.mark.parametrize("dialect", ["2.2", "2.4", "guide"])
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_a_tree_loads_or_fails_with_a_message(
    name: str, root: Path, main: str, dialect: str, tmp_path: Path
) -> None:
    status, text = run_check(["--dialect", dialect], copy_tree(root, main, tmp_path), main)
    assert "Traceback" not in text
    assert status == 0 if text.endswith("Syntax OK\n") else status == 1
    assert text.strip()


STEPS = 25
LINES_OF_PRODUCTS = "whimbrel: "
"""What follows httpd's message about a third-party module: all lines of such modules, with the remedy."""


@needs_apache
@pytest.mark.parametrize(("name", "root", "main"), roots(), ids=[name for name, _, _ in roots()])
def test_a_tree_ends_as_with_httpd(name: str, root: Path, main: str, tmp_path: Path) -> None:
    """Remove each line that httpd refuses and check again: most trees are of 2.2 and fail early."""
    where = copy_tree(root, main, tmp_path)
    mpm: list[str] = []
    for _ in range(STEPS):
        status, text = run_check(mpm, where, main)
        theirs = run_check([str(APACHE), *mpm], where, main)
        assert (status, text.partition(LINES_OF_PRODUCTS)[0]) == theirs
        if "No MPM loaded" in theirs[1] and not mpm:
            mpm = ["-C", f"LoadModule mpm_prefork_module {MODULES}/mod_mpm_prefork.so"]
        elif theirs[0] == 0 or not comment_out_culprit(theirs[1], where):
            break
