"""Sections with patterns that are not read as by Python's `re`: apache2 on the new text answers as 2.2
did, or the section is marked.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from tests.differential.servers import APACHE
from tests.upgrade import nested_sections
from tests.upgrade.nested_sections import BASIC, HOSTS, Outcome, Zone, compare

needs_apache = pytest.mark.skipif(not APACHE.present, reason="needs apache2 with its modules")
DIRECTORY = f'<Directory "%ROOT%/htdocs/z0">\n{BASIC}Require user alice\n</Directory>\n'
LISTS = {
    "a list": "Order deny,allow\nDeny from 127.0.0.2\n",
    "Satisfy Any": "Order deny,allow\nDeny from all\nAllow from 127.0.0.2\nSatisfy Any\n",
}
PATTERNS = {
    "[[:upper:]]b": "xAb",
    r"^(a)\1$": "aa",
    r"(?<=q)z": "qz",
    r"[\x80-\xff]": "\xe9",
    r"(?>ab)c": "abc",
}
UNKNOWN = r"^(?:(a)|b)(?(1)c|d)$"
"""A pattern that PCRE knows, and for which no text is made."""


class _Zone(Zone):
    name = ""

    @property
    def paths(self) -> list[str]:
        """The names in question, and another one."""
        return [
            f"/z0/{below}{quote(name.encode('latin-1'))}" for below in ("", "a/") for name in (self.name, "-")
        ]


def compared(pattern: str, name: str, lines: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """Compare a server whose <FilesMatch> has *pattern*."""
    monkeypatch.setattr(nested_sections, "CLIENTS", ("127.0.0.1", "127.0.0.2"))
    zone = _Zone(0, DIRECTORY + f'<FilesMatch "{pattern}">\n{lines}</FilesMatch>\n', dict.fromkeys(HOSTS, ""))
    zone.name = name
    found = Outcome()
    compare(found, [zone], root / "server")
    return found


@needs_apache
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("lines", LISTS)
def test_the_section_is_compared_with_those_around(
    pattern: str, lines: str, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared(pattern, PATTERNS[pattern], LISTS[lines], open_path, monkeypatch)
    assert found.different == []
    assert {401, 404} <= found.statuses.keys()


@needs_apache
@pytest.mark.parametrize("lines", LISTS)
def test_a_pattern_without_a_known_text_is_marked(
    lines: str, open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared(UNKNOWN, "ac", LISTS[lines], open_path, monkeypatch)
    assert found.marked == 1
    assert found.unmarked == []


@needs_apache
def test_a_section_in_a_directorymatch_is_merged_behind_those_of_directories(
    open_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repetition in the <Directory>, which has Satisfy Any, is replaced by the section itself."""
    monkeypatch.setattr(nested_sections, "CLIENTS", ("127.0.0.1", "127.0.0.2"))
    main = (
        f'<Directory "%ROOT%/htdocs/z0">\n{BASIC}Require group wardens\nOrder allow,deny\n'
        "Allow from 127.0.0.2 127.0.0.3\nDeny from 127.0.0.3\nSatisfy Any\n</Directory>\n"
        '<Directory ~ "(?i)/Z0/A/">\n'
        f'{BASIC}Require user alice\n<Files "[!a]*">\nOrder deny,allow\nDeny from all\nAllow from 127.0.0.2\n'
        "</Files>\n</Directory>\n"
    )
    zone = _Zone(0, main, dict.fromkeys(HOSTS, ""))
    zone.name = "k"
    found = Outcome()
    compare(found, [zone], open_path / "server")
    assert found.unmarked == []
    assert {401, 404} <= found.statuses.keys()
