"""The page of an upgrade: numbered sides, the change of each file, access, what was not decided."""

from __future__ import annotations

from pathlib import Path

from whimbrel.base.errors import SourceLocation
from whimbrel.config.options import LoadOptions
from whimbrel.report.page.hunks import MAX_PAIRS
from whimbrel.report.page.upgrade_page import upgrade_page
from whimbrel.report.page.writing import write
from whimbrel.upgrade.check.diffs import diffs
from whimbrel.upgrade.check.fixpoint import UpgradeResult, upgrade
from whimbrel.upgrade.model import AccessDifference, Finding, Risk, UpgradeOptions
from whimbrel.upgrade.source.reading import Sources, read_config_tree

CONF = """Listen 127.0.0.1:8080
ServerName a.example
MaxRequestsPerChild 0
<Location />
    Order allow,deny
    Deny from all
</Location>
DefaultType text/plain
"""


def upgraded(root: Path) -> UpgradeResult:
    """Return the upgrade of CONF."""
    (root / "httpd.conf").write_text(CONF)
    options = LoadOptions(server_root=str(root), file=str(root / "httpd.conf"))
    return upgrade(read_config_tree(Sources(options=options), UpgradeOptions()))


def test_both_sides_are_numbered_and_the_whole_change_is_there(tmp_path: Path) -> None:
    result = upgraded(tmp_path)
    page = upgrade_page(result, str(tmp_path), diffs(result, str(tmp_path)), is_written=False)
    [group] = page.groups
    new_lines = result.files[f"{tmp_path}/httpd.conf"].decode().splitlines()
    for item in group.items:
        for line in item.sides[1].lines if item.sides else ():
            if line.sign:
                text = "".join(piece for piece, _ in line.pieces)
                assert new_lines[line.number - 1].strip() == text.strip()
    numbered = {
        right.number: right.pieces[0][0]
        for hunk in group.hunks
        for _, right in hunk.pairs
        if right is not None
    }
    assert numbered and all(new_lines[number - 1] == text for number, text in numbered.items())
    assert any(item.rule == "C17" and item.sides[1].lines[-1].number for item in group.items)
    assert "lines removed" in group.changed


def test_differences_of_whole_files_are_bounded(tmp_path: Path) -> None:
    result = upgraded(tmp_path)
    lines = b"".join(b"-%d\n" % at for at in range(MAX_PAIRS - 3))
    long = b"@@ -1,9 +0,0 @@\n" + lines
    page = upgrade_page(result, "", {"/a": long, "/b": long, "/c": b"@@ -1 +0,0 @@\n-x\n"}, is_written=False)
    groups = {group.title: group for group in page.groups}
    assert groups["/a"].hunks and not groups["/b"].hunks and groups["/c"].hunks
    assert groups["/b"].changed == "19,997 lines removed, 0 added; --format text prints it"


def test_access_that_differs_leads_to_its_line(tmp_path: Path) -> None:
    result = upgraded(tmp_path)
    place = SourceLocation(f"{tmp_path}/httpd.conf", 4)
    result.access = (AccessDifference("10.0.0.1 as <bob>", "GET http://a.example/", 403, 200, place),)
    page = upgrade_page(result, str(tmp_path), {}, is_written=True, facts=["verified with 3 requests"])
    [row] = [table for table in page.tables if table.anchor == "access"][0].rows
    assert [cell.text for cell in row[:5]] == [
        "gains access",
        "10.0.0.1 as <bob>",
        "GET http://a.example/",
        "403",
        "granted",
    ]
    assert row[5].href and any(row[5].href == item.anchor for item in page.groups[0].items)
    assert "verified with 3 requests" in page.facts
    assert "10.0.0.1 as &lt;bob&gt;" in write(page)


def test_of_several_findings_at_a_line_the_one_about_access_is_linked(tmp_path: Path) -> None:
    """Whatever the order of the rules: the reader comes to what the row is about."""
    result = upgraded(tmp_path)
    place = SourceLocation(f"{tmp_path}/httpd.conf", 4)
    found = [
        Finding("R02", place, "of queries", "", Risk.COSMETIC),
        Finding("DIFF", place, "of access", "", Risk.CLOSES),
        Finding("X01", place, "of options", "", Risk.CHANGES),
    ]
    result.access = (AccessDifference("10.0.0.1", "GET http://a.example/", 200, 403, place, is_of_old=True),)
    for order in (found, found[::-1]):
        result.findings = order
        page = upgrade_page(result, str(tmp_path), {}, is_written=False)
        [row] = [table for table in page.tables if table.anchor == "access"][0].rows
        (item,) = (one for group in page.groups for one in group.items if one.anchor == row[5].href)
        assert (item.rule, row[5].text) == ("DIFF", "httpd.conf:4")
