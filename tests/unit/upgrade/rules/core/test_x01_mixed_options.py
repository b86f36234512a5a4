"""X01: its lines leave in 2.4 the value, the added and the removed options that the line left in 2.2."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from tests.support.site import Site

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.config.core_config import CoreDirConfig, Options
from whimbrel.upgrade.rules.core.x01_mixed_options import accepted, as_22_took

NAMES = ("Indexes", "Includes", "IncludesNOEXEC", "All", "RunScripts")
WORDS = [f"{sign}{name}" for name in NAMES for sign in ("", "+", "-")]
MIXED = [words for words in product(WORDS, repeat=3) if not accepted(list(words))]


def options(root: Path, lines: list[str], dialect: Dialect) -> list[Options]:
    """Return what each of *lines*, contents of sections, leaves of Options."""
    sections = [f'<Directory "/d{number}">\n{text}\n</Directory>\n' for number, text in enumerate(lines)]
    main = Site(root, "".join(sections)).load(dialect).main
    return [section.layer.record(CoreDirConfig).options for section in main.directories]


def test_all_lines_of_three_words(tmp_path: Path) -> None:
    old = options(tmp_path, [f"Options {' '.join(words)}" for words in MIXED], V22)
    texts = ["\n".join(f"Options {text}" for text in as_22_took(list(words))) for words in MIXED]
    new = options(tmp_path, texts, V24)
    # without Includes, or with exec in `added`, one value alone would differ further below
    assert [
        (words, one) for words, one, other in zip(MIXED, old, new, strict=True) if not alike(one, other)
    ] == []


def alike(old: Options, new: Options) -> bool:
    """Return True if no section below tells the two apart."""
    same_lists = (old.added, old.removed) == (new.added, new.removed)
    is_idle = not (old.added & ~old.value or old.removed & old.value or new.added or new.removed)
    return old.value == new.value and (same_lists or is_idle)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("+Indexes MultiViews", ["+Indexes", "MultiViews"]),
        ("Indexes +FollowSymLinks", ["Indexes FollowSymLinks"]),
        ("Indexes -Indexes", ["None"]),
        ("All None", ["Indexes Includes FollowSymLinks ExecCGI"]),
    ],
)
def test_one_line_where_one_says_it_all(line: str, expected: list[str]) -> None:
    assert as_22_took(line.split()) == expected
