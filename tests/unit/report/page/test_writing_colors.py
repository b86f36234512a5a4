"""Colors of the style sheet: every pair of text and surface has the contrast of WCAG AA, in both schemes."""

from __future__ import annotations

import re

import pytest

from whimbrel.report.page.writing import STYLES, _asset

SHEET = "".join(map(_asset, STYLES))
TOKENS = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", _asset("base.css")
    )
}
RISKS = ("breaks", "opens", "closes", "changes", "cosmetic", "undecided", "same")
SURFACES = ("ground", "surface", "sunken")
TEXT = [
    *(
        ("ink", surface)
        for surface in (*SURFACES, "removed-tint", "added-tint", "removed-mark", "added-mark")
    ),
    *(("ink-soft", surface) for surface in (*SURFACES, "removed-tint", "added-tint")),
    *(("ink", f"{risk}-tint") for risk in RISKS),
    *(("accent", surface) for surface in (*SURFACES, "accent-tint")),
    ("on-accent", "accent"),
    *((risk, surface) for risk in RISKS for surface in ("surface", "ground", f"{risk}-tint")),
    *(("surface", risk) for risk in RISKS),
    ("breaks", "removed-tint"),
    ("same", "added-tint"),
]
"""Text on its surface: at least 4.5 to 1 (WCAG 2.2, 1.4.3)."""
PARTS = [("edge", "surface"), ("edge", "ground"), ("accent", "sunken"), ("edge", "sunken")]
"""Borders of fields and marks of charts: at least 3 to 1 (WCAG 2.2, 1.4.11)."""


def luminance(color: str) -> float:
    """Return the relative luminance (WCAG 2.2, definitions)."""
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colors."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21.0
    assert round(contrast("#777777", "#ffffff"), 2) == 4.48  # the well-known grey that just fails


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_and_parts_stand_out(scheme: int) -> None:
    low = {
        (text, surface): round(contrast(TOKENS[text][scheme], TOKENS[surface][scheme]), 2)
        for pairs, least in ((TEXT, 4.5), (PARTS, 3.0))
        for text, surface in pairs
        if contrast(TOKENS[text][scheme], TOKENS[surface][scheme]) < least
    }
    assert low == {}


def test_every_color_of_the_sheets_is_in_the_table() -> None:
    used = set(re.findall(r"(?<![\w-])(?:color|background|fill): var\(--([\w-]+)", SHEET))
    assert used - {"risk", "risk-tint"} <= {name for pair in (*TEXT, *PARTS) for name in pair}


def test_focus_is_never_hidden() -> None:
    """An outline that is taken away is one of elements that another rule outlines."""
    bare = re.findall(r"([^{}]+)\{[^{}]*outline: none", SHEET)
    assert [selector.strip() for selector in bare] == ["main:focus"]
    assert re.search(r":focus-visible \{ outline: 2px solid var\(--accent\)", SHEET)
