"""A DefaultType that was never written has a default in 2.2: the note outlives the modules of 2.4."""

from __future__ import annotations

from pathlib import Path

from tests.unit.upgrade.config_trees import config_tree

from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import Finding

MAIN = "LoadModule mime_module modules/mod_mime.so\nListen 80\nDocumentRoot /srv\n"


def found(root: Path, text: str) -> tuple[list[Finding], str]:
    result = upgrade(config_tree(root, {"conf/httpd.conf": text}))
    (data,) = result.files.values() if result.files else (text.encode(),)
    return [finding for finding in result.findings if finding.rule == "C13"], data.decode()


def test_an_unset_default_type_is_a_note_once(tmp_path: Path) -> None:
    findings, after = found(tmp_path / "a", MAIN)
    assert [finding.needs_review for finding in findings] == [False]
    assert "no DefaultType is set" in findings[0].message and "authz_core" in after
    assert found(tmp_path / "b", after)[0] == []


def test_a_default_type_that_is_set(tmp_path: Path) -> None:
    findings, _ = found(tmp_path, MAIN + "DefaultType text/html\n")
    assert [bool(finding.edits) for finding in findings] == [True]


def test_of_two_types_the_outer_header_line_wins(tmp_path: Path) -> None:
    """apache2 2.4: a file without an extension has text/plain under both lines, with ForceType text/html."""
    inner = "<Directory /srv/in>\nDefaultType text/html\n</Directory>\n"
    for finding in found(tmp_path / "a", f"{MAIN}DefaultType text/plain\n{inner}")[0]:
        assert "where no outer one has given them another" in finding.advice
        assert "as 2.2 did" not in finding.advice and finding.needs_review
    (alone,) = found(tmp_path / "b", f"{MAIN}DefaultType text/html\n{inner}")[0][:1]
    assert "text/html, as 2.2 did" in alone.advice and not alone.needs_review
