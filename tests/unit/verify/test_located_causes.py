"""Copies of a server whose documents differ: the files are the cause, not the versions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.verify import exact_causes
from whimbrel.verify.coverage.without_line import RemovalBudget
from whimbrel.verify.known_changes import REASONS
from whimbrel.verify.located_causes import NOT_FOUND, OTHER_CONTENTS
from whimbrel.verify.probe import Probe
from whimbrel.verify.type_reasons import OF_DOT
from whimbrel.verify.verify import verify

DEFLATE = "AddOutputFilterByType DEFLATE text/html"


@pytest.mark.parametrize("text", ["home\n", "other home\n"])
def test_files_with_other_contents(tmp_path: Path, text: str) -> None:
    """Each httpd sends the file of its own DocumentRoot, whatever its version."""
    sides = []
    for name, dialect, contents in (("old", "2.2", "home\n"), ("new", "2.4", text)):
        make_root(tmp_path / name, {"htdocs/index.html": contents})
        sides.append(side(tmp_path / name, name, f'ServerRoot "{tmp_path}/{name}"\n', dialect))
    reasons = {group.reason for group in verify(*sides, limit=500).groups if "body" in str(group.examples)}
    assert (OTHER_CONTENTS in reasons) is (text != "home\n")
    assert not any("the versions differ in body" in reason for reason in reasons)


def test_sent_htaccess_file(tmp_path: Path) -> None:
    """A visitor gets a .htaccess file that no section protects; what an upgrade writes into it is no other
    document. Another field of the same answer is compared."""
    sides = []
    for name, dialect, line in (
        ("old", "2.2", "Order allow,deny\nAllow from all\n"),
        ("new", "2.4", "Require all granted\n"),
    ):
        make_root(tmp_path / name, {"htdocs/a/index.html": "home\n", "htdocs/a/.htaccess": line})
        text = f'ServerRoot "{tmp_path}/{name}"\n<Directory "{tmp_path}/{name}/htdocs">\nAllowOverride All\n'
        sides.append(side(tmp_path / name, name, f"{text}</Directory>\n", dialect))
    result = verify(*sides, limit=500)
    found = [example for group in result.groups for example in group.examples]
    of_file = [one.difference.names for one in found if one.probe.target == "/a/.htaccess"]
    assert of_file == [("content-type",)], of_file  # 2.2 sends text/plain by default, 2.4 no type
    assert "/a/.htaccess (sent as they are; their lines are compared)" in result.not_compared


def test_causes_beyond_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the search for single lines may ask nothing, lines that are known to do such things are tried:
    mod_deflate of 2.4 leaves small bodies alone, and mod_mime of 2.4 the dots before a name."""
    monkeypatch.setattr(exact_causes, "BUDGET", RemovalBudget(requests=0, loaded=0))
    sides = []
    for name, dialect in (("old", "2.2"), ("new", "2.4")):
        make_root(tmp_path / name, {"htdocs/index.html": "home\n"})
        text = (
            f'ServerRoot "{tmp_path}/{name}"\nOptions None\nAddHandler cgi-script .cgi\n{DEFLATE}\n'
            '<FilesMatch "\\.cgi$">\nHeader set X-A 1\n</FilesMatch>\n'
        )
        sides.append(side(tmp_path / name, name, text, dialect, "deflate", "filter", "cgid"))
    groups = verify(*sides, limit=500).groups
    assert not [group.reason for group in groups if NOT_FOUND in group.reason]
    compressed = [
        group.rule
        for group in groups
        for example in group.examples
        if "content-encoding" in example.difference.names
    ]
    assert set(compressed) == {"C30"}
    of_dot = [group for group in groups if "/.cgi" in {one.probe.target for one in group.examples}]
    (group,) = [group for group in of_dot if group.examples[0].difference.names[0] == "status"]
    assert (group.reason, group.cause.new[0].text) == (OF_DOT, "AddHandler cgi-script .cgi")


def test_error_pages_that_24_does_not_filter_by_type(tmp_path: Path) -> None:
    """apache2: with DEFLATE by type for text/html, GET /x.html of a file that is not there has neither Vary
    nor Content-Encoding, whatever the length of its ErrorDocument; a page with status 200 has both. For a
    name that begins with a dot it is the same.
    """
    sides = []
    for name, dialect in (("old", "2.2"), ("new", "2.4")):
        make_root(tmp_path / name, {"htdocs/index.html": "a" * 500, "htdocs/error.html": "b" * 500})
        text = f'ServerRoot "{tmp_path}/{name}"\nErrorDocument 404 /error.html\n{DEFLATE}\n'
        sides.append(side(tmp_path / name, name, text, dialect, "deflate", "filter"))
    fields = (("Accept-Encoding", "gzip"),)
    more = [Probe(target, host="localhost", port=8080, fields=fields) for target in ("/.x", "/x.html", "/")]
    result = verify(*sides, limit=300, more=more)
    of_errors = [
        (group.rule, group.reason)
        for group in result.groups
        for one in group.examples
        if one.new.status == 404 and "vary" in one.difference.names
    ]
    assert of_errors and set(of_errors) == {("C34", REASONS["C34"])}
