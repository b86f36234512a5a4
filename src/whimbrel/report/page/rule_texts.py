"""The documents of the rules for the folds of a page: what changes, how to fix it, how safe that is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.upgrade.documents.explain import document, rule_of

if TYPE_CHECKING:
    from markupsafe import Markup

SECTIONS: Final = ("What changes", "How to see it", "How to fix it", "How safe it is")
"""The sections of a document that are prose; all others are examples."""


@dataclass(frozen=True, slots=True)
class RuleText:
    """A rule with its document: pairs of heading and text."""

    number: str
    name: str
    title: str
    sections: tuple[tuple[str, Markup], ...]


def rule_texts(numbers: Iterable[str]) -> list[RuleText]:
    """Return the documents of the rules *numbers*, each once; numbers of no rule are left out."""
    from markdown_it import MarkdownIt
    from markupsafe import Markup

    markdown = MarkdownIt("commonmark", {"html": False})
    texts = []
    for number in sorted(set(numbers)):
        rule = rule_of(number)
        if rule is None:
            continue
        sections = tuple((heading, Markup(markdown.render(text))) for heading, text in _prose(document(rule)))
        texts.append(RuleText(number, rule.name, rule.title, sections))
    return texts


def _prose(text: str) -> Iterable[tuple[str, str]]:
    """Yield heading and text of each section of prose."""
    for part in text.split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        if heading.strip() in SECTIONS:
            yield heading.strip(), body
