"""Findings for the page: bounded, of one file, and the lines that accepted changes have moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.wrong_files import KINDS, site
from tests.unit.studio.studio_site import sources_of, write_site

from whimbrel.studio import findings
from whimbrel.studio.documents import Refused
from whimbrel.studio.findings import FindingKey, Findings


def entries_of(document: dict[str, object]) -> list[dict[str, object]]:
    entries = document["entries"]
    assert isinstance(entries, list)
    return entries


def test_only_so_many_findings_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_site(tmp_path, hosts=10)
    monkeypatch.setattr(findings, "MAX_ENTRIES", 5)
    found = Findings(sources_of(tmp_path))
    document = found.check({})
    count = document["count"]
    assert isinstance(count, int) and count > 10
    assert (len(entries_of(document)), document["left_out"]) == (5, count - 5)
    own = found.check({}, (), f"{tmp_path}/conf/hosts/0009.conf")
    assert {entry["file"] for entry in entries_of(own)} == {"conf/hosts/0009.conf"}


def test_lines_are_those_of_the_text_with_the_accepted_changes(tmp_path: Path) -> None:
    main = write_site(tmp_path)
    found = Findings(sources_of(tmp_path))
    first = entries_of(found.check({}))[0]
    assert first["rule"] == "C05"
    key = FindingKey("C05", str(main), 3)
    text = found.fix({}, (key,))[str(main)].decode().split("\n")
    for entry in entries_of(found.check({}, (key,))):
        if entry["rule"] == "C14":
            assert text[int(str(entry["line"])) - 1] == "NameVirtualHost *:80"
            origin = int(str(entry["origin"]))
            assert main.read_text().split("\n")[origin - 1] == "NameVirtualHost *:80"
            assert origin < int(str(entry["line"]))
            break
    else:
        raise AssertionError("C14 is not left")


def test_a_finding_without_an_edit_is_refused(tmp_path: Path) -> None:
    main = write_site(tmp_path)
    with pytest.raises(Refused, match="no edit for this line"):
        Findings(sources_of(tmp_path)).fix({}, (FindingKey("C11", str(main), 1),))


@pytest.mark.parametrize("place", ["main", "include", "htaccess"])
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_files_have_their_sentence(tmp_path: Path, kind: str, place: str) -> None:
    found = site(tmp_path / "srv", kind, place)
    before = found.wrong.read_bytes()
    wrong = KINDS[kind]
    entries = entries_of(Findings(sources_of(found.root)).check({}))
    name = str(found.wrong.relative_to(found.root))
    assert any(
        wrong.said in str(entry["message"]) and (entry["file"], entry["line"]) == (name, found.line)
        for entry in entries
    ), entries
    assert found.wrong.read_bytes() == before
