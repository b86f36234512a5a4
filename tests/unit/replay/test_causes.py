"""The lines that explain a change between the answers to a logged request."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.replay.replayed_site import line
from tests.unit.verify.sites import make_root, side
from typer.testing import CliRunner

from whimbrel.cli import replay
from whimbrel.replay.answers import FastAnswer
from whimbrel.replay.causes import ChangeCauses
from whimbrel.verify.probe import Probe


@pytest.mark.parametrize(("lines", "is_change"), [("", False), ("Header set X-A 1", True)])
def test_answers_that_differ_in_nothing_that_counts_are_no_change(
    tmp_path: Path, lines: str, is_change: bool
) -> None:
    """The first comparison is by bytes; what differs by nature, such as Date, is found by the second."""
    make_root(tmp_path)
    causes = ChangeCauses(side(tmp_path, "old", "", "2.4"), side(tmp_path, "new", lines, "2.4"))
    answers = (FastAnswer(200, (word, b""), ()) for word in (b"HTTP/1.1 200 OK a", b"HTTP/1.1 200 OK b"))
    change = causes.change(Probe("/", host="localhost"), *answers)
    assert (change is not None) is is_change


OLD_LOADS = "".join(f"LoadModule {name}_module m/mod_{name}.so\n" for name in ("authz_host", "dir", "mime"))
NEW_LOADS = OLD_LOADS + "".join(
    f"LoadModule {name}_module m/mod_{name}.so\n"
    for name in ("mpm_event", "unixd", "authz_core", "access_compat")
)


def test_an_error_page_that_one_version_refuses_as_well_is_the_cause(tmp_path: Path) -> None:
    """<Location /> refuses the page of ErrorDocument in 2.2, too, which then sends its own text. apache2 2.4
    checks no access again for a request with the same settings, and sends the page.
    """
    (tmp_path / "www").mkdir()
    (tmp_path / "www/403.html").write_text("no")
    (tmp_path / "www/index.html").write_text("yes")
    (tmp_path / "types").write_text("text/html html\n")
    text = (
        "Listen 80\nServerName a.example\nTypesConfig types\nDocumentRoot www\nErrorDocument 403 /403.html\n"
        "AddDefaultCharset UTF-8\n"
        "<Location />\nOrder allow,deny\nAllow from all\nDeny from 192.0.2.1\n</Location>\n"
    )
    for name, loads in (("old", OLD_LOADS), ("new", NEW_LOADS)):
        (tmp_path / f"{name}.conf").write_text(f"ServerRoot {tmp_path}\n{loads}{text}")
    (tmp_path / "log").write_text(line("/", status=403))
    sides = ["--old", str(tmp_path / "old.conf"), "--new", str(tmp_path / "new.conf"), "-j", "1"]
    found = CliRunner().invoke(replay.app, [str(tmp_path / "log"), *sides]).stdout
    assert "ErrorDocument 403 /403.html" in found, found
    assert "new sends the error page /403.html, which old does not send" in found
    assert "no line decides it" not in found
