"""Log lines fill the form of the request."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.studio.studio_site import sources_of, write_site

from whimbrel.studio.documents import Refused
from whimbrel.studio.requests import MAX_LOG_LINE, form_of_log_line
from whimbrel.verify.loading import load_side
from whimbrel.verify.side import Side


@pytest.fixture
def side(tmp_path: Path) -> Side:
    write_site(tmp_path)
    options = sources_of(tmp_path).options
    assert options is not None
    return load_side(options, "2.2")


def test_an_access_line_fills_the_form(side: Side) -> None:
    line = '10.2.3.4 - bob [10/Oct/2000:13:55:36 -0700] "POST /a?b=c HTTP/1.0" 200 2326'
    form = form_of_log_line(line, side)
    assert (form["url"], form["client"], form["user"], form["method"]) == (
        "/a?b=c",
        "10.2.3.4",
        "bob",
        "POST",
    )


def test_an_error_line_fills_the_form(side: Side, tmp_path: Path) -> None:
    line = (
        "[Wed Oct 11 14:32:52 2000] [error] [client 10.0.0.1] client denied by server configuration: "
        f"{tmp_path}/htdocs/closed/x"
    )
    form = form_of_log_line(line, side)
    assert (form["url"], form["client"]) == ("/closed/x", "10.0.0.1")


@pytest.mark.parametrize(
    "line", ["", "what?", "a\nb", "x" * (MAX_LOG_LINE + 1), "\0" * 100, "[client 1.2.3.4]"]
)
def test_other_text_is_refused_with_a_sentence(side: Side, line: str) -> None:
    with pytest.raises(Refused):
        form_of_log_line(line, side)
