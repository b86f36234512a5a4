"""A report as tests show it."""

from __future__ import annotations

from whimbrel.report.model import UNREAD, Entry, Report
from whimbrel.upgrade.model import Risk


def report() -> Report:
    """Three files: one with a finding and a note, one that can't be read in part, one without anything."""
    return Report(
        ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"],
        [
            Entry("C42", "conf/httpd.conf", 3, "SSLv2 is gone & <over>", "take it away", Risk.BREAKS, mended=True, text="SSLProtocol SSLv2"),
            Entry("C52", "conf/httpd.conf", 9, "lines look different", "", Risk.COSMETIC, text="ErrorLog logs/e"),
            Entry(UNREAD, "conf/a,b.conf", 0, "a NUL byte: 100%\nof it", "look", Risk.CHANGES, review=True, via="conf/httpd.conf:7"),
        ],
        lines=40, titles={"C42": "SSLv2 is gone", "C52": "Log lines"})
