"""GitHub's workflow commands (escapes as its documentation of the toolkit has them) and JUnit's XML."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.unit.report.reports import report

from whimbrel.report.formats.junit import github, junit
from whimbrel.report.model import ReportEntry


def test_annotations() -> None:
    lines = github(report()).splitlines()
    assert (
        lines[0]
        == "::error file=conf/httpd.conf,line=3,title=C42 SSLv2 is gone::SSLv2 is gone & <over>: take it away"
    )
    assert lines[1].startswith("::notice file=conf/httpd.conf,line=9,")
    assert (
        lines[2]
        == "::warning file=conf/a%2Cb.conf,title=READ What could not be read::a NUL byte: 100%25%0Aof it: look"
    )


def test_junit_counts_what_it_holds() -> None:
    root = ElementTree.fromstring(junit(report()).encode())
    assert root.tag == "testsuites"
    assert root.attrib["failures"] == "2" == str(len(root.findall(".//failure")))
    assert root.attrib["tests"] == str(len(root.findall(".//testcase")))
    assert [suite.attrib["name"] for suite in root] == ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"]
    assert [len(suite) for suite in root] == [2, 1, 1]


def test_junit_takes_any_byte() -> None:
    shown = report()
    shown.entries.append(ReportEntry("C17", "a\x01\xff\"'<.conf", 1, "\x00\x1b]]>&"))
    root = ElementTree.fromstring(junit(shown).encode())
    assert root.findall("testsuite")[-1].attrib["name"] == "a?\xff\"'<.conf"
