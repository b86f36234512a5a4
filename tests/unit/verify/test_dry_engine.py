"""The engine that answers with bodies and runs nothing beyond the process."""

from __future__ import annotations

from pathlib import Path

from tests.unit.explain.explained_site import CONF, side_of

from whimbrel.verify.dry_engine import DryEngine
from whimbrel.verify.probe import Probe


def test_the_answer_is_that_of_the_side(tmp_path: Path) -> None:
    """Status, fields and file are those of `Side.answer`, which verify compares with real servers."""
    side = side_of(tmp_path)
    engine = DryEngine(side.loaded, side.runtime)
    for target in ("/", "/old/x", "/private/x.html", "/none", "/files/y"):
        found = engine.answer_with_body(Probe(target, host="q.example"), 100).answer
        expected = side.answer(Probe(target, host="q.example"))
        assert found is not None and (found.status, found.file) == (expected.status, expected.file)
        assert [f for f in found.fields if f[0] != "Date"] == [f for f in expected.fields if f[0] != "Date"]


def test_a_body_is_cut_at_the_limit(tmp_path: Path) -> None:
    side = side_of(tmp_path)
    engine = DryEngine(side.loaded, side.runtime)
    exact = engine.answer_with_body(Probe("/", host="q.example"), 6)
    assert (exact.body, exact.is_cut) == (b"hello\n", False)
    cut = engine.answer_with_body(Probe("/", host="q.example"), 5)
    assert (cut.body, cut.is_cut) == (b"hello", True)


def test_an_included_program_is_not_run(tmp_path: Path) -> None:
    """A sub-request of a page counts as the page itself."""
    (tmp_path / "cgi").mkdir()
    script = tmp_path / "cgi/x"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    script.chmod(0o755)
    lines = (
        "LoadModule include_module modules/mod_include.so\n<Directory @ROOT@>\nRequire all granted\n"
        "Options +Includes +ExecCGI\nAddOutputFilter INCLUDES .shtml\n</Directory>\n"
    )
    side = side_of(tmp_path, CONF + lines)
    (tmp_path / "htdocs/a.shtml").write_text('a <!--#include virtual="/cgi-bin/x" --> b\n')
    found = DryEngine(side.loaded, side.runtime).answer_with_body(Probe("/a.shtml", host="q.example"), 100)
    assert (found.answer, found.not_run) == (None, "mod_cgid")
    assert not (tmp_path / "started").exists()
