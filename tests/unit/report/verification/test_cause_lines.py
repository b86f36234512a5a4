"""The lines of a cause in text: those that decide first, each once, equal sides once."""

from __future__ import annotations

from whimbrel.report.verification.cause_lines import cause_lines
from whimbrel.verify.answer import DecidingLine

NAMES = ("old (2.2)", "new (2.4)")


def test_lines_that_decide_come_first() -> None:
    old = (
        DecidingLine("/a.conf", 9, "Order allow,deny", "decides"),
        DecidingLine("/b.conf", 4, "Deny from all", "directive"),
        DecidingLine("/a.conf", 9, "Order allow,deny", "directive"),
        DecidingLine("/a.conf", 2, "Options None", "directive"),
    )
    assert list(cause_lines(NAMES, (old, (DecidingLine("/c.conf", 1, "Require all granted"),)))) == [
        "old (2.2) decides: /a.conf:9: Order allow,deny",
        "old (2.2), beside it: /a.conf:2: Options None",
        "old (2.2), beside it: /b.conf:4: Deny from all",
        "new (2.4): /c.conf:1: Require all granted",
    ]


def test_one_text_under_two_versions_stands_once() -> None:
    lines = tuple(DecidingLine("/a.conf", at, "DefaultType x", "directive") for at in (7, 3))
    assert list(cause_lines(NAMES, (lines, lines))) == [
        "both: /a.conf:3: DefaultType x",
        "both: /a.conf:7: DefaultType x",
    ]


def test_no_lines() -> None:
    assert list(cause_lines(NAMES, ((), ()))) == []
