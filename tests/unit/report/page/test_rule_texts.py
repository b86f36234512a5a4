"""Documents of rules in a page: prose as HTML, no examples."""

from __future__ import annotations

from whimbrel.report.page.rule_texts import SECTIONS, rule_texts
from whimbrel.upgrade.rules import all_rules


def test_every_rule_has_its_prose_and_no_example() -> None:
    texts = rule_texts(rule.number for rule in all_rules())
    assert len(texts) == len(all_rules())
    for text in texts:
        headings = [heading for heading, _ in text.sections]
        assert headings and set(headings) <= set(SECTIONS)
        assert "What changes" in headings and all(body for _, body in text.sections)


def test_code_is_escaped_and_unknown_numbers_are_left_out() -> None:
    [text] = rule_texts(["C17", "READ", "C17"])
    bodies = "".join(body for _, body in text.sections)
    assert (text.number, text.name) == ("C17", "order-allow-deny")
    assert "<code>&lt;RequireAll&gt;</code>" in bodies and "<RequireAll>" not in bodies
