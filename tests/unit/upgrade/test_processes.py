"""Two processes say what one says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from whimbrel.config.options import LoadOptions
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Wishes
from whimbrel.upgrade.processes import said, together
from whimbrel.upgrade.reading import read_estate
from whimbrel.upgrade.rules import all_rules


@pytest.fixture
def estate(tmp_path: Path) -> Estate:
    text = "SSLProtocol +SSLv2 +TLSv1\nMaxRequestsPerChild 5\n<Directory />\nOrder deny,allow\nDeny from all\n</Directory>\n"
    (tmp_path / "httpd.conf").write_text(text)
    return read_estate(LoadOptions(server_root=str(tmp_path), file="httpd.conf"), Wishes())


def test_the_same_is_said(estate: Estate) -> None:
    rules = list(all_rules())
    apart = together(estate, rules)
    assert {"C17", "C42", "C07"} <= {finding.rule for finding in apart}
    assert sorted(map(repr, apart)) == sorted(map(repr, said(estate, rules)))


def test_a_failure_is_not_lost(estate: Estate) -> None:
    def fails(_estate: Estate) -> Iterator[Finding]:
        raise ZeroDivisionError
        yield

    with pytest.raises(ZeroDivisionError):
        together(estate, [replace(all_rules()[0], check=fails)])
