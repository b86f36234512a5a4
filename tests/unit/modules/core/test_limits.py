"""Limits: the values that 2.4.71 refuses, with its messages, and the stored ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"
RANGES = " requires 'none', 'default', 'unlimited' or a positive integer"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("LimitRequestLine -1", 'LimitRequestLine "-1" must be a non-negative integer'),
        (
            "LimitRequestFields 99999999999999999999",
            'LimitRequestFields "99999999999999999999" must be a non-negative integer (0 = no limit)',
        ),
        ("LimitRequestBody 10k", "LimitRequestBody requires a non-negative integer."),
        ("LimitRequestBody 9223372036854775808", "LimitRequestBody argument is not parsable."),
        (
            "LimitXMLRequestBody 9223372036854775807",
            "LimitXMLRequestBody must not exceed 3074457345618258601",
        ),
        ("MaxRanges 0", "MaxRanges" + RANGES),
        ("MaxRangeOverlaps -1", "MaxRangeOverlaps" + RANGES),
        ("MaxRangeReversals x", "MaxRangeReversals" + RANGES),
        ("LimitInternalRecursion 5 0", "The recursion limit must be greater than zero."),
        ("ReadBufferSize 4294967296", "parameter must be a number between 0 and (4294967295U)): 4294967296"),
        ("FlushMaxPipelined -2", "parameter must be a number between -1 and (2147483647): -2"),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize(
    "line",
    [
        "LimitRequestLine x",
        "MaxRanges 5x",
        "MaxRanges NONE",
        "Timeout abc",
        "FlushMaxPipelined -1",
        "RLimitCPU 10 x",
    ],
)
def test_accepted(tmp_path: Path, line: str) -> None:
    assert Site(tmp_path, line + "\n").check() == "Syntax OK"


def test_values(tmp_path: Path) -> None:
    conf = Site(
        tmp_path, "MaxRanges unlimited\nLimitInternalRecursion 3 4\nTimeout 7s\nLimitRequestBody 0\n"
    ).load()
    server, folder = conf.main.config(CoreServerConfig), conf.main.defaults.record(CoreDirConfig)
    assert (server.max_redirects, server.max_subrequests, server.timeout) == (3, 4, 7.0)
    assert (folder.max_ranges, folder.limit_body) == (-1, 0)


def test_timeout_that_nobody_sets(tmp_path: Path) -> None:
    assert Site(tmp_path, "").load().main.config(CoreServerConfig).timeout == 60.0
    assert Site(tmp_path, "").load(V22).main.config(CoreServerConfig).timeout == 300.0


@pytest.mark.parametrize(
    ("words", "codes"),
    [("4", []), ("3", ["AH00119"]), ("10 2", ["AH00120"]), ("3 3", ["AH00119", "AH00120"])],
)
def test_low_limits_are_warned_of(tmp_path: Path, words: str, codes: list[str]) -> None:
    assert [m.code for m in Site(tmp_path, f"LimitInternalRecursion {words}\n").load().messages] == codes
