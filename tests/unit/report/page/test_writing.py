"""The document: whole, alone, escaped in every place, with landmarks, headings and labels."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys

import pytest
from jinja2 import UndefinedError
from tests.support.report_pages import MARKUP, Outline, hostile_page, large_report, texts_of
from tests.unit.report.reports import report

from whimbrel.report.page.check_page import check_page
from whimbrel.report.page.model import Badge, ReportPage
from whimbrel.report.page.texts import RESERVED, Anchors
from whimbrel.report.page.writing import _environment, json_block, prose, write

NOON = 1_764_331_200.0  # 2025-11-28 12:00 UTC


def digest(text: str) -> str:
    """Return the source expression of a hash (CSP3, 2.3.1)."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def test_it_is_whole_and_needs_nothing_else() -> None:
    page = Outline(write(check_page(report()), NOON))
    assert not page.open
    assert "2025-11-28" in page.text
    links = [attributes["href"] for attributes in page.named("a")]
    places = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert links and all(link.startswith("#") and link[1:] in places for link in links)
    assert not any("src" in attributes for _, attributes in page.elements)
    assert not page.named("link", "img", "iframe", "object", "base", "form[action]")
    assert "url(" not in page.raw["style"] and "@import" not in page.raw["style"]
    assert not re.search(
        r"fetch|XMLHttpRequest|WebSocket|sendBeacon|import\(|eval|innerHTML", page.raw["script"]
    )


def test_the_policy_allows_its_own_style_and_script_alone() -> None:
    page = Outline(write(hostile_page(4), eager=2))
    [policy] = [each["content"] for each in page.named("meta") if "http-equiv" in each]
    assert dict(part.strip().split(" ", 1) for part in policy.split(";")) == {
        "default-src": "'none'",
        "style-src": digest(page.raw["style"]),
        "script-src": digest(page.raw["script"]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    inline = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert inline == [] and not any("style" in attributes for _, attributes in page.elements)


def test_libraries_are_imported_when_a_page_is_written() -> None:
    code = (
        "import sys, whimbrel.report.formats.html, whimbrel.report.verification.html, whimbrel.replay.html;"
        "print([name for name in ('jinja2', 'markupsafe', 'markdown_it') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_every_text_is_escaped() -> None:
    """No text makes an element, and none is missing: it stands in text, in an attribute or in the JSON."""
    items = 4
    page = hostile_page(items)
    shown = Outline(write(page))
    assert [attributes for attributes in shown.named("img", "style") if attributes] == []
    assert len(shown.named("script")) == 1 and len(shown.named("style")) == 1
    # the title has two of them; a label, a heading and an attribute repeat some
    assert shown.text.count(MARKUP) >= texts_of(page) - len(page.groups) - 2 * items
    assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b", shown.text)


def test_quoted_lines_are_code_and_stay_escaped() -> None:
    assert prose("see `<Limit>` & `a` and ` alone") == (
        "see <code>&lt;Limit&gt;</code> &amp; <code>a</code> and ` alone"
    )


def test_late_findings_stand_in_json_that_ends_nothing() -> None:
    written = write(hostile_page(6), eager=2)
    page = Outline(written)
    assert len(page.named("script")) == 2
    bodies = json.loads(page.raw["json"])
    late = [each for each in page.named("article") if "data-late" in each]
    assert len(bodies) == len(late) == 4
    assert [int(each["data-late"]) for each in late] == list(range(4))
    body = Outline(bodies[0])
    assert not body.open and not body.named("img", "script", "svg")
    assert MARKUP in body.text


def test_json_block_ends_nothing() -> None:
    value = ["</script><!--", "<SCRIPT>]]>&lt;", "\u2028"]
    text = json_block(value)
    assert json.loads(text) == value
    assert not re.search("</|<!|<script", text, re.IGNORECASE)


def test_a_misspelt_name_is_an_error() -> None:
    with pytest.raises(UndefinedError):
        _environment().from_string("{{ page.titel }}").render(page=hostile_page())


@pytest.mark.parametrize("page", [check_page(report()), check_page(large_report(12)), hostile_page()])
def test_headings_landmarks_and_labels(page: object) -> None:
    outline = Outline(write(page))  # type: ignore[arg-type]
    levels = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    for landmark in ("header", "main", "footer"):
        assert len(outline.named(landmark)) == 1
    assert len(outline.named("label")) == len(outline.named("input", "select"))
    within = [tag for tag, _ in outline.elements if tag in ("label", "input", "select")]
    assert within == ["label", "input", "label", "select", "label", "select"]
    assert all(each.get("scope") in ("col", "row") for each in outline.named("th"))
    assert outline.named("html")[0]["lang"] == "en"
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len(set(names))


def test_the_places_of_the_templates_are_reserved() -> None:
    written = {
        attributes["id"]
        for _, attributes in Outline(write(ReportPage("", "", Badge("", "same"), ""))).elements
        if "id" in attributes
    }
    assert written <= set(RESERVED)
    anchors = Anchors()
    assert [anchors.new(text) for text in ("file", "a b<c>", "a-b-c", "", "\xe9")] == [
        "file~2",
        "a-b-c",
        "a-b-c~2",
        "x",
        "x~2",
    ]


def test_nothing_of_a_document_says_that_more_is_shown() -> None:
    """A page of few findings has no block of JSON and no note about it."""
    page = Outline(write(check_page(report())))
    assert "json" not in page.raw and not page.named("noscript")
