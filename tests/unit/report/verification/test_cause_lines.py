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
        "lines of old (2.2) that decide",
        "    /a.conf:9: Order allow,deny",
        "other lines of old (2.2) in sections of these requests",
        "    /a.conf:2: Options None",
        "    /b.conf:4: Deny from all",
        "lines of new (2.4)",
        "    /c.conf:1: Require all granted",
    ]


def test_the_lines_nearest_to_those_that_decide_are_shown() -> None:
    """A Satisfy line of the section tells more than the sections around it."""
    around = tuple(DecidingLine("/a.conf", at, f"Order {at}", "access") for at in range(1, 8))
    decides = DecidingLine("/a.conf", 30, "Require valid-user", "decides")
    satisfy = DecidingLine("/a.conf", 33, "Satisfy Any", "directive")
    lines = list(cause_lines(NAMES, ((*around, decides, satisfy), ())))
    assert lines[:3] == [
        "lines of old (2.2) that decide",
        "    /a.conf:30: Require valid-user",
        "other lines of old (2.2) in sections of these requests",
    ]
    assert lines[3:] == [
        *(f"    /a.conf:{at}: Order {at}" for at in (5, 6, 7)),
        "    /a.conf:33: Satisfy Any",
        "    and 4 more (--format json has all)",
    ]


def test_names_of_realms_and_sections_are_no_others() -> None:
    """Beside the lines that decide; without such lines every line is shown."""
    noise = [
        DecidingLine("/a.conf", at, text)
        for at, text in enumerate(("<Directory /a>", "AuthName x", "AuthType Basic"))
    ]
    satisfy = DecidingLine("/a.conf", 33, "Satisfy Any", "directive")
    decides = DecidingLine("/a.conf", 30, "Require valid-user", "decides")
    assert list(cause_lines(NAMES, ((*noise, decides, satisfy), ())))[1:] == [
        "    /a.conf:30: Require valid-user",
        "other lines of old (2.2) in sections of these requests",
        "    /a.conf:33: Satisfy Any",
    ]
    assert len(list(cause_lines(NAMES, (tuple(noise), ())))) == 1 + len(noise)


def test_one_text_under_two_versions_stands_once() -> None:
    lines = tuple(DecidingLine("/a.conf", at, "DefaultType x", "directive") for at in (7, 3))
    assert list(cause_lines(NAMES, (lines, lines))) == [
        "lines of both",
        "    /a.conf:3: DefaultType x",
        "    /a.conf:7: DefaultType x",
    ]


def test_no_lines() -> None:
    assert list(cause_lines(NAMES, ((), ()))) == []
