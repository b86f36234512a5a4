"""The directory walk: order of merging, symbolic links, files of other kinds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

MODULES = "mpm_event authz_core dir headers"


def order(answer: str) -> str:
    """The letters that the sections have appended to the X field, in their order of merging."""
    return "".join(line[3:] for line in answer.split("\r\n") if line.startswith("X: ")).replace(", ", "")


def section(name: str, argument: str, letter: str) -> str:
    return f'<{name} "{argument}">\nHeader append X {letter}\n</{name}>\n'


def test_sections_are_merged_from_the_shortest_path_to_the_longest(tmp_path: Path) -> None:
    conf = section("Directory", "@DOCROOT@/in", "c") + section("Directory", "@DOCROOT@", "b")
    site = AccessSite(tmp_path, conf + section("Directory", "/", "a"), modules=MODULES)
    assert (order(site.fetch("/in/f.html")), order(site.fetch("/f.html"))) == ("abc", "ab")


def test_kinds_of_sections_are_merged_in_httpds_order(tmp_path: Path) -> None:
    """sections.html: <Directory>, then <DirectoryMatch>, <Files>, <Location>, <If>, wherever they stand."""
    conf = (
        '<If "true">\nHeader append X e\n</If>\n'
        + section("Location", "/in", "d")
        + section("Files", "f.html", "c")
        + section("DirectoryMatch", "/in", "b")
        + section("Directory", "@DOCROOT@/in", "a")
    )
    assert order(AccessSite(tmp_path, conf, modules=MODULES).fetch("/in/f.html")) == "abcde"


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("@DOCROOT@/i*", True),
        ("@DOCROOT@/i?", True),
        ("@DOCROOT@/*", True),
        ("@DOCROOT@/x*", False),
        ("/*/x*", False),
    ],
)
def test_a_wildcard_matches_within_one_segment(tmp_path: Path, pattern: str, matches: bool) -> None:
    site = AccessSite(tmp_path, section("Directory", pattern, "w"), modules=MODULES)
    assert (order(site.fetch("/in/f.html")) == "w") == matches


# options, status of a link to a file, and the log's code
LINKS = {
    "None": ("Options None", 403, ["AH00037"]),
    "FollowSymLinks": ("Options FollowSymLinks", 200, []),
    "SymLinksIfOwnerMatch": ("Options SymLinksIfOwnerMatch", 200, []),
}


@pytest.mark.parametrize("case", LINKS)
def test_a_symbolic_link_needs_an_option(tmp_path: Path, case: str) -> None:
    options, status, codes = LINKS[case]
    site = AccessSite(tmp_path, f'<Directory "@DOCROOT@">\n{options}\n</Directory>\n')
    os.symlink("f.html", tmp_path / "htdocs/link.html")
    assert (site.status("/link.html"), site.codes()) == (status, codes)


def test_a_refused_link_of_a_sub_request_beside_its_page_has_a_code_of_its_own(tmp_path: Path) -> None:
    """httpd checks it where it reuses the walk of the page (request.c, ap_directory_walk)."""
    conf = '<Directory "@DOCROOT@">\nOptions None\nDirectoryIndex link.html\n</Directory>\n'
    site = AccessSite(tmp_path, conf, modules=MODULES)
    os.symlink("f.html", tmp_path / "htdocs/link.html")
    assert (site.status("/"), site.codes()) == (403, ["AH00032"])


def test_a_link_on_the_way_is_checked_too(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, '<Directory "@DOCROOT@">\nOptions None\n</Directory>\n')
    os.symlink("in", tmp_path / "htdocs/away")
    assert (site.status("/away/f.html"), site.codes()) == (403, ["AH00037"])


def test_a_dangling_link_is_forbidden_where_links_are_checked(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, '<Directory "@DOCROOT@">\nOptions SymLinksIfOwnerMatch\n</Directory>\n')
    os.symlink("none", tmp_path / "htdocs/dangling")
    assert (site.status("/dangling"), site.codes()) == (403, ["AH00037"])


@pytest.mark.parametrize(("length", "status", "codes"), [(255, 404, []), (256, 403, ["AH00036"])])
def test_a_name_that_no_file_can_have_is_refused(
    tmp_path: Path, length: int, status: int, codes: list[str]
) -> None:
    site = AccessSite(tmp_path, "")
    assert (site.status(f"/{'a' * length}"), [code for code in site.codes() if code == "AH00036"]) == (
        status,
        codes,
    )


def test_path_info_may_be_longer_than_a_name(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "AcceptPathInfo On\n")
    assert site.status(f"/f.html/{'b' * 300}") == 200
