"""One look at a configuration tree: selection, inline exemptions, what could not be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.check.check import (
    BATCH_SIZE,
    CheckResult,
    UnknownRule,
    batches,
    check,
    check_all,
    parse_selection,
)
from whimbrel.upgrade.source.reading import Sources

TEXT = b"SSLProtocol +SSLv2 +TLSv1\nMaxRequestsPerChild 5\nCustomLog logs/a common\n"


def checked(tmp_path: Path, data: bytes, only: str = "", without: str = "") -> CheckResult:
    (tmp_path / "httpd.conf").write_bytes(data)
    return check(
        Sources(options=LoadOptions(server_root=str(tmp_path), file="httpd.conf")),
        parse_selection(only, without),
    )


def told(found: CheckResult) -> list[tuple[str, int]]:
    return [(finding.rule, finding.place.line) for finding in found.findings]


def test_findings_have_line_and_text(tmp_path: Path) -> None:
    found = checked(tmp_path, TEXT, "C42,C07")
    assert told(found) == [("C42", 1), ("C07", 2)]
    path = str(tmp_path / "httpd.conf")
    assert found.files == {path: 3}
    assert found.texts[path, 2] == "MaxRequestsPerChild 5"


def test_nothing_is_written(tmp_path: Path) -> None:
    checked(tmp_path, TEXT)
    assert (tmp_path / "httpd.conf").read_bytes() == TEXT


def test_selection(tmp_path: Path) -> None:
    assert told(checked(tmp_path, TEXT, "c07")) == [("C07", 2)]
    assert "C07" not in [rule for rule, _line in told(checked(tmp_path, TEXT, "", "C07"))]
    with pytest.raises(UnknownRule, match="C99"):
        parse_selection("C99", "")


def test_a_covered_row_can_be_selected_alone(tmp_path: Path) -> None:
    assert told(checked(tmp_path, b"CacheEnable mem /\nMCacheSize 100\n", "X24")) == [("X24", 2)]


def test_inline_exemptions(tmp_path: Path) -> None:
    data = b"# whimbrel: ignore[C42]\n" + TEXT
    assert told(checked(tmp_path, data, "C42,C07")) == [("C07", 3)]
    assert told(checked(tmp_path, b"# whimbrel: ignore[C07]\n" + TEXT, "C42")) == [("C42", 2)]


def test_what_is_unread_is_never_left_out(tmp_path: Path) -> None:
    data = b"<Directory /a>\nMaxClients 5\n"
    assert "READ" in [rule for rule, _line in told(checked(tmp_path, data, "C42"))]
    assert told(checked(tmp_path, data, "C42", "READ")) == []


def test_many_files_go_in_pieces(tmp_path: Path) -> None:
    names = []
    for number in range(BATCH_SIZE + 3):
        path = tmp_path / f"{number:04}.conf"
        path.write_bytes(b"\n" * number + b"MaxRequestsPerChild 5\n")
        names.append(str(path))
    parts = batches(Sources(fragments=tuple(names)))
    assert [len(part.fragments) for part in parts] == [BATCH_SIZE, 3]
    alone = [told(one) for one in check_all(parts, parse_selection("C07", ""), 1)]
    assert alone == [
        [("C07", number + 1) for number in range(BATCH_SIZE)],
        [("C07", number + 1) for number in range(BATCH_SIZE, BATCH_SIZE + 3)],
    ]
    assert [told(one) for one in check_all(parts, parse_selection("C07", ""), 2)] == alone
