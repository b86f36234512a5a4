"""Defaults of Options and AllowOverride that decide: they are named, and only where no line decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.explain.explained_site import explained, old_side, side_of

from whimbrel.explain.cause import cause_of

CONF = """Listen 80
ServerName localhost
DocumentRoot "@ROOT@/htdocs"
TypesConfig "@ROOT@/mime.types"
LoadModule autoindex_module modules/mod_autoindex.so
AddHandler cgi-script .cgi
@MORE@
"""
OPTIONS = {
    "2.2": "Options All is the default of 2.2, as no Options line ",
    "2.4": "Options FollowSymLinks is the default of 2.4, as no Options line ",
}
OVERRIDE = {
    "2.2": "AllowOverride All is the default of 2.2, as no AllowOverride line applies",
    "2.4": "AllowOverride None is the default of 2.4, as no AllowOverride line applies",
}


def cause(root: Path, dialect: str, target: str, more: str = "") -> tuple[int | None, str]:
    """Return the status and the sentence of a request; 2.4 needs a line that admits the client."""
    (root / "htdocs/list").mkdir(parents=True)
    (root / "htdocs/x.cgi").write_text("#!/bin/sh\n")
    (root / "htdocs/own").mkdir()
    (root / "htdocs/own/.htaccess").write_text("Redirect /own/a /b\n")
    conf = CONF.replace("@MORE@", more)
    side = old_side(root, conf) if dialect == "2.2" else side_of(root, conf)
    answer = explained(side, target)
    assert not answer.errors
    return answer.status, cause_of(answer).sentence


@pytest.mark.parametrize(("dialect", "status"), [("2.2", 200), ("2.4", 403)])
@pytest.mark.parametrize(
    ("line", "end"),
    [
        ("", "applies"),
        ('<Directory "@ROOT@/htdocs">\nOptions +MultiViews\n</Directory>', "sets Indexes"),
    ],
)
def test_a_listing(dialect: str, status: int, line: str, end: str, tmp_path: Path) -> None:
    found, sentence = cause(tmp_path, dialect, "/list/", line)
    assert found == status
    assert sentence.endswith(OPTIONS[dialect] + end)


def test_a_program_that_options_do_not_permit(tmp_path: Path) -> None:
    status, sentence = cause(tmp_path, "2.4", "/x.cgi")
    assert status == 403
    assert sentence.endswith(f"; {OPTIONS['2.4']}applies")


@pytest.mark.parametrize(("dialect", "status"), [("2.2", 302), ("2.4", 500)])
def test_the_lines_of_a_htaccess_file(dialect: str, status: int, tmp_path: Path) -> None:
    found, sentence = cause(tmp_path, dialect, "/own/a")
    assert found == status
    assert sentence.endswith(OVERRIDE[dialect])


@pytest.mark.parametrize("dialect", ["2.2", "2.4"])
@pytest.mark.parametrize(
    ("target", "line", "status"),
    [
        ("/list/", "Options Indexes", 200),
        ("/list/", "Options None", 403),
        ("/list/", "Options -Indexes", 403),
        ("/x.cgi", "Options None", 403),
        ("/own/a", "AllowOverride FileInfo", 302),
        ("/own/a", "AllowOverride Limit", 500),
        ("/none", "", 404),
    ],
)
def test_where_a_line_or_a_file_decides_no_default_is_named(
    dialect: str, target: str, line: str, status: int, tmp_path: Path
) -> None:
    section = f'<Directory "@ROOT@/htdocs">\n{line}\n</Directory>' if line else ""
    found, sentence = cause(tmp_path, dialect, target, section)
    assert found == status
    assert "is the default of" not in sentence
