"""What is not known stands beside the verdict."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.report.page.unknown import ANCHOR, MAX_ROWS, unknown_card, unknown_tables
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind

LOG = UnknownItem(UnknownKind.LEFT_OUT, SourceLocation("/srv/a.conf", 2), "logs", matters=False)
FILE = UnknownItem(
    UnknownKind.MISSING, SourceLocation("/srv/a.conf", 7), "<users> is not here", "not decided", "copy it"
)


def test_items_that_matter_come_first_and_the_others_in_a_fold() -> None:
    [table] = unknown_tables(KnowledgeScope(items=(LOG, FILE)), "/srv", [("no password", "GET / from ::1")])
    cells = [[cell.text for cell in row] for row in table.rows]
    assert cells == [
        ["not decided", "GET / from ::1", "no password", "the verdict does not cover it"],
        ["missing here", "a.conf:7", "<users> is not here; copy it", "not decided"],
    ]
    assert [[cell.text for cell in row] for row in table.folded] == [
        ["left out", "a.conf:2", "logs", "no answer depends on it"]
    ]
    assert table.note == "2 in all: 1 not decided, 1 that may matter: the verdict does not cover them."
    assert table.anchor == ANCHOR
    assert unknown_tables(KnowledgeScope()) == ()


def test_the_card_counts_and_leads_to_the_table() -> None:
    card = unknown_card(KnowledgeScope(items=(LOG, FILE)), 3)
    assert (card.count, card.href) == (4, ANCHOR)
    assert unknown_card(KnowledgeScope(items=(LOG,))).href == ""


def test_rows_are_bounded() -> None:
    items = tuple(UnknownItem(UnknownKind.NOT_READ, None, f"file {at}") for at in range(MAX_ROWS + 7))
    [table] = unknown_tables(KnowledgeScope(items=items))
    assert len(table.rows) == MAX_ROWS and table.note.endswith("JSON has 7 more.")


def test_a_column_without_any_text_is_left_out() -> None:
    [table] = unknown_tables(KnowledgeScope(items=(UnknownItem(UnknownKind.MISSING, None, "a directory"),)))
    assert "Place" not in table.columns and {len(row) for row in table.rows} == {len(table.columns)}
    [full] = unknown_tables(KnowledgeScope(items=(LOG, FILE)), "/srv")
    assert full.columns == ("Why", "Place", "What", "Consequence")
