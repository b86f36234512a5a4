"""JUnit XML."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.unit.report.reports import report

from whimbrel.report.formats.junit import render
from whimbrel.report.model import ReportEntry


def test_junit_counts_what_it_holds() -> None:
    root = ElementTree.fromstring(render(report()).encode())
    assert root.tag == "testsuites"
    assert root.attrib["failures"] == "2" == str(len(root.findall(".//failure")))
    assert root.attrib["tests"] == str(len(root.findall(".//testcase")))
    assert [suite.attrib["name"] for suite in root] == ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"]
    assert [len(suite) for suite in root] == [2, 1, 1]


def test_junit_takes_any_byte() -> None:
    shown = report()
    shown.entries.append(ReportEntry("C17", "a\x01\xff\"'<.conf", 1, "\x00\x1b]]>&"))
    root = ElementTree.fromstring(render(shown).encode())
    assert root.findall("testsuite")[-1].attrib["name"] == "a?\xff\"'<.conf"
