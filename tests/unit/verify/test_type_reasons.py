"""Differences of types that no line decides: the default of 2.2, and a file of types that one side lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.verify.sites import make_root, side

from whimbrel.config.options import LoadOptions
from whimbrel.report.verification.text import render
from whimbrel.verify.loading import load_sides
from whimbrel.verify.probe import Probe
from whimbrel.verify.type_reasons import OF_DEFAULT, OF_DOT
from whimbrel.verify.verification import VerifyResult
from whimbrel.verify.verify import verify

OLD = '<Directory "@ROOT@/htdocs">\nOrder allow,deny\nAllow from all\n%s</Directory>\n'
NEW = '<Directory "@ROOT@/htdocs">\nRequire all granted\n%s</Directory>\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_root(tmp_path, {"htdocs/NOEXT": "x\n", "htdocs/b.odd": "x\n"})
    return tmp_path


def compared(root: Path, old: str = "", new: str = "") -> VerifyResult:
    return verify(side(root, "old", OLD % old, "2.2"), side(root, "new", NEW % new, "2.4"))


def test_the_default_type_of_22_is_the_cause(root: Path) -> None:
    """2.2's DefaultType is text/plain without a line, 2.4 has none (mod_mime, upgrading to 2.4)."""
    (group,) = compared(root).groups
    assert group.reason == OF_DEFAULT
    assert group.cause.old == group.cause.new == ()
    shown = render(compared(root))
    assert OF_DEFAULT in shown and "Order allow,deny" not in shown


def test_a_line_with_the_default_of_22_is_named(root: Path) -> None:
    """Without the line 2.2 does the same: no comparison without it finds it (C13 of `check` is about it)."""
    old = side(root, "old", "DefaultType text/plain\n" + OLD % "", "2.2")
    (group,) = verify(old, side(root, "new", NEW % "", "2.4")).groups
    assert [line.text for line in group.cause.old] == ["DefaultType text/plain"]
    assert "C13" in group.reason


def test_a_line_that_sets_the_type_is_the_cause(root: Path) -> None:
    for old, name in (("DefaultType text/plain\n", "DefaultType"), ("AddType text/plain .odd\n", "AddType")):
        causes = [line.text for group in compared(root, old).groups for line in group.cause.old]
        assert any(text.startswith(name) for text in causes), (name, causes)


def test_a_missing_file_of_types_is_the_cause(root: Path) -> None:
    for name, types in (("old", "conf/mime.types"), ("new", "conf/nowhere")):
        side(root, name, "<Directory />\nRequire all granted\n</Directory>\n", "2.4")
        path = root / "conf" / f"{name}.conf"
        path.write_text(path.read_text().replace("conf/mime.types", types))
    options = [LoadOptions(server_root=str(root), file=f"conf/{name}.conf") for name in ("old", "new")]
    sides = load_sides((options[0], options[1]), ("2.4", "2.4"), ("old", "new"))
    reasons = {
        group.reason for group in verify(*sides).groups if group.examples[0].difference.names[0] != "x"
    }
    assert "new has no file of types: the types of names are not known there" in reasons


def test_a_name_that_begins_with_a_dot_has_another_extension_in_22(root: Path) -> None:
    """2.4 skips the dots before the name (find_ct of mod_mime): .html is a name without extension. With
    a line that gives what has no type one, the line alone does not explain the difference.
    """
    (root / "htdocs/.html").write_text("x\n")
    line = 'Header set Content-Type "text/plain" "expr=-z %{CONTENT_TYPE}"\n'
    old = side(root, "old", OLD % "", "2.2")
    new = side(root, "new", NEW % line, "2.4")
    found = verify(old, new, more=[Probe("/.html"), Probe("/x.html")])
    reasons = {str(one.probe): group.reason for group in found.groups for one in group.examples}
    dotted = [reason for probe, reason in reasons.items() if "/.html " in f"{probe} "]
    assert dotted == [OF_DOT], reasons
    assert all(reason != OF_DOT for probe, reason in reasons.items() if "/.html" not in probe)


def test_a_handler_of_a_name_that_begins_with_a_dot(root: Path) -> None:
    """apache2: GET /.pl is 404, GET /x.pl 403 (no ExecCGI); 2.2 gives both to the handler: 403."""
    lines = "Options None\nAddHandler cgi-script .pl\nErrorDocument 403 /index.html\n"
    old = side(root, "old", OLD % lines, "2.2", "cgi")
    new = side(root, "new", NEW % lines, "2.4", "cgi")
    found = verify(old, new, more=[Probe(name, host="localhost", port=8080) for name in ("/.pl", "/x.pl")])
    named = {str(one.probe): group.reason for group in found.groups for one in group.examples}
    assert [reason for probe, reason in named.items() if "/.pl " in probe] == [OF_DOT], named
    assert all(reason != OF_DOT for probe, reason in named.items() if "/.pl " not in probe)
