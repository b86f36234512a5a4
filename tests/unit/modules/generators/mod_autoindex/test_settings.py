"""Directives of mod_autoindex. Messages and results of merging are recorded from httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch_all
from tests.support.engine import build_engine

from whimbrel.base.errors import ConfigError


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("IndexOptions Bogus", "Invalid directory indexing option"),
        ("IndexOptions FancyIndexing=1", "Invalid directory indexing option"),
        ("IndexOptions +None", "Cannot combine '+' or '-' with 'None' keyword"),
        ("IndexOptions None FancyIndexing", "Cannot combine other IndexOptions keywords with 'None'"),
        ("IndexOptions DescriptionWidth=5", "DescriptionWidth value must be greater than 12"),
        (
            "IndexOrderDefault Ascending Bogus",
            "Second keyword must be 'Name', 'Date', 'Size', or 'Description'",
        ),
        ("AddIcon (TXT,/icons/t.gif .txt", "missing closing paren"),
        ("IndexIgnoreReset Yes", "IndexIgnoreReset must be On or Off"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build_engine(tmp_path, line)
    assert caught.value.reason == reason


def test_old_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        build_engine(tmp_path, "IndexOptions UseOldDateFormat", version="2.2")
    assert build_engine(tmp_path, "IndexOptions UseOldDateFormat").configuration.messages == []


@pytest.mark.parametrize(
    ("server", "section", "fancy"),
    [
        ("+FancyIndexing", None, False),
        ("FancyIndexing", None, True),
        (None, "+FancyIndexing", True),
        ("FancyIndexing", "+XHTML", True),
        ("FancyIndexing", "-FancyIndexing", False),
        ("FancyIndexing", "XHTML", False),
        ("FancyIndexing", "None", False),
        ("None", "+FancyIndexing", True),
    ],
)
def test_inheritance(tmp_path: Path, server: str | None, section: str | None, fancy: bool) -> None:
    conf = f"IndexOptions {server}\n" if server else ""
    conf += (
        "<Directory @/htdocs>\nOptions Indexes\n"
        + (f"IndexOptions {section}\n" if section else "")
        + "</Directory>"
    )
    (reply,) = fetch_all(tmp_path, conf, ["/"], {"htdocs/a.txt": "x"})
    assert ("<pre>" in reply.body) is fancy


@pytest.mark.parametrize(
    ("outer", "inner", "is_old"),
    [
        ("FancyIndexing", "", False),
        ("FancyIndexing UseOldDateFormat", "", True),
        ("FancyIndexing UseOldDateFormat", "FancyIndexing", True),
        ("FancyIndexing UseOldDateFormat", "-UseOldDateFormat", True),
        ("FancyIndexing", "-UseOldDateFormat", True),
        ("FancyIndexing", "UseOldDateFormat", True),
        ("FancyIndexing", "+SuppressSize UseOldDateFormat", True),
    ],
)
def test_old_dates_are_never_taken_back(tmp_path: Path, outer: str, inner: str, is_old: bool) -> None:
    """Recorded from httpd 2.4.71: the keyword is no option, so that FancyIndexing is inherited beside it."""
    conf = f"<Directory @/htdocs>\nOptions Indexes\nIndexOptions {outer}\n</Directory>\n"
    conf += f"<Directory @/htdocs/d>\nIndexOptions {inner}\n</Directory>\n" if inner else ""
    (reply,) = fetch_all(tmp_path, conf, ["/d/"], {"htdocs/d/a.txt": "x"})
    assert ("13-Sep-2020 12:26" in reply.body) is is_old
    assert ("2020-09-13 12:26" in reply.body) is not is_old
    assert "<pre>" in reply.body
