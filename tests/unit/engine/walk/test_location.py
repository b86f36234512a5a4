"""Location, files and if walks: which sections match a URL, a file name, a condition."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.access import Site

MODULES = "mpm_event authz_core dir headers setenvif"


def taken(site: Site, path: str) -> str:
    lines = site.ask(path).split("\r\n")
    return next((line[3:] for line in lines if line.startswith("X: ")), "")


# section, target, does it apply
SECTIONS = {
    "its own path": ('Location "/in"', "/in/f.html", True),
    "with a slash": ('Location "/in/"', "/in/f.html", True),
    "part of a name": ('Location "/i"', "/in/f.html", False),
    "doubled slash": ('Location "/in"', "//in/f.html", True),
    "wildcard": ('Location "/i?"', "/in", True),
    "wildcard and a segment more": ('Location "/*/f.html"', "/in/f.html", True),
    "regular expression": ('LocationMatch "f.html$"', "/in/f.html", True),
    "tilde": ('Location ~ "^/(in|out)/"', "/in/f.html", True),
    "file": ('Files "f.html"', "/in/f.html", True),
    "file wildcard": ('Files "f.*"', "/in/f.html", True),
    "file expression": ('FilesMatch "^f"', "/in/f.html", True),
    "other file": ('Files "g.html"', "/in/f.html", False),
    "condition": ('If "%{REQUEST_URI} =~ m#^/in#"', "/in/f.html", True),
    "other condition": ("If \"%{REQUEST_URI} == '/'\"", "/in/f.html", False),
}


@pytest.mark.parametrize("case", SECTIONS)
def test_a_section_applies_where_httpd_applies_it(tmp_path: Path, case: str) -> None:
    start, target, applies = SECTIONS[case]
    kind = start.split(" ")[0]
    site = Site(tmp_path, f"<{start}>\nHeader always set X yes\n</{kind}>\n", modules=MODULES)
    assert taken(site, target) == ("yes" if applies else "")


def test_locations_are_merged_in_the_order_of_the_file(tmp_path: Path) -> None:
    conf = "".join(
        f"<Location {path}>\nHeader append X {letter}\n</Location>\n"
        for path, letter in (("/in/f.html", "a"), ("/", "b"), ("/in", "c"))
    )
    assert taken(Site(tmp_path, conf, modules=MODULES), "/in/f.html") == "a, b, c"


@pytest.mark.parametrize(("path", "text"), [("/f.html", "else"), ("/in/f.html", "if"), ("/none", "elseif")])
def test_one_branch_of_a_chain_applies(tmp_path: Path, path: str, text: str) -> None:
    conf = """<If "%{REQUEST_URI} =~ m#^/in#">
Header always set X if
</If>
<ElseIf "%{REQUEST_URI} =~ m#none#">
Header always set X elseif
</ElseIf>
<Else>
Header always set X else
</Else>
"""
    assert taken(Site(tmp_path, conf, modules=MODULES), path) == text


def test_named_groups_become_variables(tmp_path: Path) -> None:
    conf = '<LocationMatch "^/(?<PLACE>[a-z]+)/">\nHeader set X "%{MATCH_PLACE}e"\n</LocationMatch>\n'
    assert taken(Site(tmp_path, conf, modules=MODULES), "/in/f.html") == "in"
