"""What is not known, in each format."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.report.knowledge import MAX_ITEMS, as_json, text_lines
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind

LOG = UnknownItem(UnknownKind.LEFT_OUT, SourceLocation("/srv/a.conf", 2), "logs", matters=False)
FILE = UnknownItem(
    UnknownKind.MISSING, SourceLocation("/srv/a.conf", 7), "<users> is not here", "not decided", "copy it"
)
SCOPE = KnowledgeScope(("/srv/a.conf",), (LOG, FILE))


def test_text_begins_with_what_matters() -> None:
    assert list(text_lines(SCOPE, "/srv")) == [
        "not known: 1 that may matter, 1 that no answer depends on",
        "  missing here: a.conf:7: <users> is not here (not decided; copy it)",
        "  left out: a.conf:2: logs",
    ]
    assert list(text_lines(KnowledgeScope(("/srv/a.conf",)))) == []


def test_what_findings_say_is_counted_once() -> None:
    """Whoever must review it is not told that no answer depends on it."""
    findings = {LOG.subject}
    head, *rest = text_lines(SCOPE, "/srv", findings)
    assert head == "not known: 1 that may matter, 0 that no answer depends on; 1 more among the findings"
    assert not any("logs" in line for line in rest)
    assert list(text_lines(SCOPE, "/srv", {LOG.subject, FILE.subject}))[0] == (
        "not known: 2 places among the findings"
    )


def test_text_is_bounded_and_json_is_not() -> None:
    items = tuple(UnknownItem(UnknownKind.NOT_READ, None, f"file {n}") for n in range(MAX_ITEMS + 5))
    lines = list(text_lines(KnowledgeScope(items=items)))
    assert len(lines) == MAX_ITEMS + 3 and lines[-2] == "  and 5 more (JSON names all)"
    assert len(as_json(KnowledgeScope(items=items))["unknown"]) == MAX_ITEMS + 5


def test_lines_with_one_reason_are_counted() -> None:
    """A thousand rules of a module that is not here are one line, and hide nothing else."""
    rules = tuple(
        UnknownItem(
            UnknownKind.LEFT_OUT,
            SourceLocation(f"/srv/{number % 2}.conf", number),
            f"SecRule{number % 3}: a directive of ModSecurity",
        )
        for number in range(1, 1001)
    )
    lines = list(text_lines(KnowledgeScope(items=(*rules, FILE)), "/srv"))
    assert lines[:-1] == [
        "not known: 1001 that may matter, 0 that no answer depends on",
        "  left out: 1.conf:1: SecRule1: a directive of ModSecurity; 999 more lines alike, in 2 files",
        "  missing here: a.conf:7: <users> is not here (not decided; copy it)",
    ]
    few = list(text_lines(KnowledgeScope(items=rules[:3]), "/srv"))
    assert len(few) == 5 and "alike" not in few[1]


def test_what_helps_is_said_once_for_each_kind() -> None:
    """A reader of *not known* learns what to give; an item with advice of its own has it."""
    items = tuple(
        UnknownItem(kind, None, f"{kind.value} {number}")
        for number in range(2)
        for kind in (UnknownKind.MISSING, UnknownKind.LEFT_OUT, UnknownKind.UNDEFINED_VARIABLE)
    )
    (line,) = [line for line in text_lines(KnowledgeScope(items=items)) if "to know it: " in line]
    assert line.count("run the command on the server itself") == 1 and "--envvars FILE" in line
    assert not any("to know it: " in line for line in text_lines(KnowledgeScope(items=(LOG, FILE))))


def test_json() -> None:
    document = as_json(SCOPE, "/srv")
    assert (document["complete"], document["files_read"]) == (False, ["a.conf"])
    assert document["unknown"][0] == {
        "kind": "missing here",
        "file": "a.conf",
        "line": 7,
        "subject": "<users> is not here",
        "consequence": "not decided",
        "advice": "copy it",
        "matters": True,
    }
