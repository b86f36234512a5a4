"""Documents that include themselves: bounded, with httpd's messages."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from tests.support.client import dechunk, fetch
from tests.support.engine import build_engine
from tests.support.scripts import SSI, SSI_ERROR

from whimbrel.modules.filters.mod_include.include_exec import MAX_DOCUMENTS

CONF = (
    "LoadModule include_module modules/mod_include.so\n<Directory @/htdocs>\nOptions +Includes\nAddType "
    "text/html .shtml\n"
    "AddOutputFilter INCLUDES .shtml\n</Directory>\n"
)
ERROR = "[an error occurred while processing this directive]"


def loop(times: int) -> str:
    return "x" + '<!--#include virtual="/loop.shtml" -->' * times


def test_one_loop_ends_at_the_limit_of_nesting(tmp_path: Path) -> None:
    """As recorded from httpd 2.4.71: eleven documents, one message."""
    serving = build_engine(tmp_path, SSI, {"htdocs/loop.shtml": loop(1)})
    assert dechunk(fetch(serving, "/loop.shtml").body) == "x" * 11 + SSI_ERROR
    lines = b"".join(line for lines in serving.runtime.logs.values() for line in lines).decode()
    assert (
        "AH00125: Request exceeded the limit of 10 subrequest nesting levels due to probable configuration "
        "error." in lines
    )
    assert 'unable to include "/loop.shtml" in parsed file' in lines
    assert "subrequest setup returned 500" in lines


def test_two_loops_are_followed_to_the_end(tmp_path: Path) -> None:
    """httpd's response has 106,495 bytes."""
    body = fetch(build_engine(tmp_path, CONF, {"htdocs/loop.shtml": loop(2)}), "/loop.shtml").body
    assert len(dechunk(body)) == 106_495


def test_more_of_them_are_bounded(tmp_path: Path) -> None:
    start = time.process_time()
    body = dechunk(fetch(build_engine(tmp_path, SSI, {"htdocs/loop.shtml": loop(9)}), "/loop.shtml").body)
    documents = len(body.replace(SSI_ERROR, ""))
    assert documents * 9 >= MAX_DOCUMENTS >= documents
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('file="none" file="a.txt"', "A"),
        ('file="none" virtual="/a.txt"', SSI_ERROR),
        ('virtual="/none" file="a.txt"', "A"),
        ('file="none" file="none" file="a.txt"', SSI_ERROR),
        ('file="none" onerror="/a.txt" file="a.txt"', "AA"),
        ('file="none" foo="x"', SSI_ERROR * 2),
        ('file="none" virtual="/none" onerror="/a.txt"', "A"),
        ('file="none" onerror="/none" onerror="/a.txt"', SSI_ERROR),
    ],
)
def test_one_document_after_another_that_is_not_there(tmp_path: Path, arguments: str, shown: str) -> None:
    serving = build_engine(
        tmp_path, SSI, {"htdocs/i.shtml": f"<!--#include {arguments} -->", "htdocs/a.txt": "A"}
    )
    assert dechunk(fetch(serving, "/i.shtml").body) == shown


@pytest.mark.parametrize(("query", "shown"), [("", "i=1 after i=1 "), ("?o=2", "i=1 o=2after i=1 o=2")])
def test_the_query_of_an_included_document_stays_after_it(tmp_path: Path, query: str, shown: str) -> None:
    """As recorded from httpd 2.4.71: QUERY_STRING is the inner one's, DOCUMENT_ARGS the outer one's."""
    text = '<!--#echo var="QUERY_STRING" --> <!--#echo var="DOCUMENT_ARGS" -->'
    outer = '<!--#include virtual="/i.shtml?i=1" -->after ' + text
    serving = build_engine(tmp_path, SSI, {"htdocs/o.shtml": outer, "htdocs/i.shtml": text})
    assert dechunk(fetch(serving, f"/o.shtml{query}").body) == shown


def test_paths_that_leave_the_directory(tmp_path: Path) -> None:
    serving = build_engine(
        tmp_path, CONF, {"htdocs/i.shtml": '<!--#include file="/x" --><!--#fsize file="../x" -->'}
    )
    fetch(serving, "/i.shtml")
    lines = b"".join(line for lines in serving.runtime.logs.values() for line in lines).decode()
    above = r"\(20023\)The given path was above the root path: \[client 127\.0\.0\.1:\d+\]"
    assert re.search(rf'{above} unable to include file "/x" in parsed file', lines)
    assert re.search(rf'{above} AH02668: unable to access file "\.\./x" in parsed file', lines)
