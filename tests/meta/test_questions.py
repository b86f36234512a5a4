"""questions.tsv: where behaviour lives that a reader of httpd looks for.

Columns: the question; the file below src/whimbrel; the guesses that a reader of the file names needed (3: not
found in two).
"""

from __future__ import annotations

from pathlib import Path

from tests.meta.tree import PACKAGE, assert_none

TABLE = Path(__file__).with_name("questions.tsv").read_text()
HEAD, *ROWS = (line.split("\t") for line in TABLE.splitlines())


def test_every_row_is_complete() -> None:
    assert HEAD == ["question", "file", "guesses"]
    assert len({question for question, *_ in ROWS}) == len(ROWS) >= 30
    assert_none(row for row in ROWS if len(row) != 3 or not row[0].endswith("?") or row[2] not in "123")


def test_every_answer_exists() -> None:
    assert_none(name for _, name, _ in ROWS if not (PACKAGE / name).is_file())


def test_file_names_answer_within_two_guesses() -> None:
    assert_none(question for question, _, guesses in ROWS if guesses == "3")
