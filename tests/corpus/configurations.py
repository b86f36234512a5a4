"""The configurations of these tests: those of the repository, and a larger set if it is present.

The larger set is `corpus` in $WHIMBREL_SHARED, else in ../shared: single files in `files` and `rewrite`, and
whole servers in `trees`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIGURATIONS = REPOSITORY / "tests" / "data" / "configurations"
LARGER_SET = Path(os.environ.get("WHIMBREL_SHARED") or REPOSITORY.parent / "shared") / "corpus"
MAIN_FILES = ("apache2.conf", "conf/httpd.conf", "httpd.conf")
PARTS = ("files", "rewrite", "trees")


@cache
def files() -> list[Path]:
    """Every file of every set."""
    return sorted(
        path
        for directory in (CONFIGURATIONS, LARGER_SET)
        for part in PARTS
        for path in (directory / part).rglob("*")
        if path.is_file()
    )


def sample(every: int) -> list[Path]:
    """Every file of the repository, and each *every*-th of the larger set; WHIMBREL_CASES takes all."""
    if "WHIMBREL_CASES" in os.environ:
        return files()
    own = [path for path in files() if path.is_relative_to(CONFIGURATIONS)]
    return own + [path for path in files() if not path.is_relative_to(CONFIGURATIONS)][::every]


@cache
def roots() -> list[tuple[str, Path, str]]:
    """Name, server root and main file (below the root) of each tree."""
    return [root for trees in (CONFIGURATIONS / "trees", LARGER_SET / "trees") for root in _roots(trees)]


def _roots(trees: Path) -> list[tuple[str, Path, str]]:
    found = []
    for tree in sorted(trees.iterdir()) if trees.is_dir() else ():
        parents = {path.parent for path in tree.rglob("*.conf")}
        for directory in sorted(parents | {parent.parent for parent in parents}):
            main = next((name for name in MAIN_FILES if (directory / name).is_file()), None)
            if main and not (directory.name == "conf" and main == "httpd.conf"):
                found.append((f"{tree.name}:{directory.relative_to(tree)}", directory, main))
    return found
