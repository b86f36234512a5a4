"""#if and the other conditions. The documents' texts and log lines are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import dechunk, fetch
from tests.support.engine import build_engine
from tests.support.scripts import SSI, SSI_ERROR

WORDS = {
    "K": '<!--#if expr="(" -->',
    "I": '<!--#if expr="true" -->',
    "J": '<!--#if expr="false" -->',
    "T": '<!--#elif expr="true" -->',
    "F": '<!--#elif expr="false" -->',
    "X": '<!--#elif expr="(" -->',
    "L": "<!--#else -->",
    "E": "<!--#endif -->",
    "N": '<!--#if foo="x" -->',
}


def document(steps: str) -> str:
    """Return an element for each letter, each followed by its lower-case letter."""
    return "".join(WORDS[step] + chr(97 + index) for index, step in enumerate(steps))


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        ("KE", "!b"),
        ("KLE", "!c"),
        ("KTE", "!bc"),
        ("KFE", "!c"),
        ("KTLE", "!bcd"),
        ("KTTLE", "!be"),
        ("KFTE", "!cd"),
        ("KFLE", "!d"),
        ("KLTE", "!cd"),
        ("JXLE", "!d"),
        ("JXTLE", "!cde"),
        ("IXLE", "ad"),
        ("KEJLE", "!bde"),
        ("KTIELE", "!bcdf"),
        ("KTKELEL", "!b!df"),
        ("IKTLELE", "a!cdeg"),
        ("NTLE", "!bcd"),
    ],
)
def test_conditions_that_are_none(tmp_path: Path, steps: str, shown: str) -> None:
    serving = build_engine(tmp_path, SSI, {"htdocs/a.shtml": document(steps)})
    assert dechunk(fetch(serving, "/a.shtml").body).replace(SSI_ERROR, "!") == shown


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("-e '/x'", "-e"),
        ("-f '/x'", "-f"),
        ("-d '/x'", "-d"),
        ("-s '/x'", "-s"),
        ("-L '/x'", "-L"),
        ("-h '/x'", "-h"),
        ("-x '/x'", "-x"),
        ("file('/x') == ''", "file"),
        ("%{filesize:/x} == 0", "filesize"),
    ],
)
def test_documents_may_not_ask_about_files(tmp_path: Path, condition: str, name: str) -> None:
    serving = build_engine(
        tmp_path, SSI, {"htdocs/a.shtml": f'<!--#if expr="{condition}" -->T<!--#else -->F<!--#endif -->'}
    )
    assert dechunk(fetch(serving, "/a.shtml").body) == SSI_ERROR
    lines = b"".join(line for lines in serving.runtime.logs.values() for line in lines).decode()
    assert (
        f'AH01337: Could not parse expr "{condition}" in {tmp_path}/htdocs/a.shtml: {name} not available in '
        "restricted context" in lines
    )
