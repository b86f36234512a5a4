"""#if and the other conditions. The documents' texts and log lines are those of httpd 2.4.71."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.modules.asked import ask, engine
from tests.unit.modules.filters.mod_include.test_include_exec import CONF, ERROR, unchunked

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
    serving = engine(tmp_path, CONF, {"htdocs/a.shtml": document(steps)})
    assert unchunked(ask(serving, "/a.shtml").body).replace(ERROR, "!") == shown


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
    serving = engine(
        tmp_path, CONF, {"htdocs/a.shtml": f'<!--#if expr="{condition}" -->T<!--#else -->F<!--#endif -->'}
    )
    assert unchunked(ask(serving, "/a.shtml").body) == ERROR
    lines = b"".join(line for lines in serving.runtime.logs.values() for line in lines).decode()
    assert (
        f'AH01337: Could not parse expr "{condition}" in {tmp_path}/htdocs/a.shtml: {name} not available in '
        "restricted context" in lines
    )
