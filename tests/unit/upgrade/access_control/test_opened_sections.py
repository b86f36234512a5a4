"""Sections that a later <Location> opens in 2.2; the answers are those of apache2 with mod_access_compat,
which merges these lists as 2.2 does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.upgrade.access_texts import MODULES
from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.access_control.analysis import analyze_access
from whimbrel.upgrade.access_control.opened_sections import already_open

OPEN = "<Location />\nOrder allow,deny\nAllow from all\nDeny from 192.0.2.66\n</Location>\n"
CLOSED = "<Location /private>\nOrder deny,allow\nDeny from all\n</Location>\n"
FILES = '<Files "x.inc">\nOrder allow,deny\nDeny from all\n</Files>\n'


def sentences(root: Path, lines: str) -> list[str]:
    text = f"{MODULES}DocumentRoot ROOT/htdocs\n{lines}"
    tree = config_tree(root, {"conf/httpd.conf": text, "htdocs/x.inc": "", "htdocs/private/x": ""})
    analysis = analyze_access(tree)
    found = (already_open(tree, analysis, section) for section in analysis.plans)
    return [sentence for sentence in found if sentence]


@pytest.mark.parametrize(("section", "url"), [(CLOSED, "/private"), (FILES, "/x.inc")])
def test_a_later_location_opens_a_section(tmp_path: Path, section: str, url: str) -> None:
    # apache2: 200 for /private/x and /x.inc
    (sentence,) = sentences(tmp_path, section + OPEN)
    assert sentence.startswith("open in 2.2 already: <Location />, ") and f" refuse {url}" in sentence


@pytest.mark.parametrize(
    "lines",
    [
        OPEN + CLOSED,  # apache2: 403 for /private/x: the later of two <Location> sections counts
        CLOSED + OPEN.replace("<Location />", "<Location /other>"),  # 403
        FILES + OPEN.replace("Location", "Directory"),  # 403: <Files> is merged behind <Directory>
        FILES + OPEN.replace("Allow from all", "Allow from 192.0.2.1").replace("Location /", "Location /y"),
    ],
)
def test_a_section_that_protects_is_not_named(tmp_path: Path, lines: str) -> None:
    assert sentences(tmp_path, lines) == []
