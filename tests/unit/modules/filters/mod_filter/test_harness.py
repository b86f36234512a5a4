"""The harness: selection by media type, FilterProtocol, errors, trace, the response cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import Reply, fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.modules.filters.mod_brotli import BrotliCompress
from whimbrel.modules.filters.mod_filter.harness import Harness, media_type
from whimbrel.modules.filters.mod_filter.settings import FilterRule, SmartFilter
from whimbrel.modules.filters.mod_include import Includes

LOAD = "LoadModule filter_module m/mod_filter.so\nLoadModule case_filter_module m/mod_case_filter.so\n"
FILES = {"htdocs/a.txt": "some words", "htdocs/a.html": "<b>", "htdocs/a.png": "x", "htdocs/err.txt": "oops"}
UP = "FilterDeclare up\nFilterProvider up CASEFILTER true\nFilterChain up\n"
RANGE = "Range: bytes=1-2"


def engine(root: Path, conf: str) -> Engine:
    return build_engine(root, LOAD + conf + "\n", FILES)


def ask(root: Path, conf: str, path: str = "/a.txt", *lines: str) -> Reply:
    return fetch(engine(root, conf), path, *lines)


@pytest.mark.parametrize(
    ("kind", "media"), [("text/html; charset=x", "text/html"), ("a/b\tc", "a/b"), ("a/b", "a/b"), ("", "")]
)
def test_media_type_ends_before_parameters(kind: str, media: str) -> None:
    assert media_type(kind) == media


def test_filters_by_type_compare_with_case(tmp_path: Path) -> None:
    assert ask(tmp_path, "AddOutputFilterByType CASEFILTER text/x text/plain").body == "SOME WORDS"
    assert ask(tmp_path, "AddOutputFilterByType CASEFILTER text/PLAIN").body == "some words"
    assert ask(tmp_path, "AddOutputFilterByType CASEFILTER text/*").body == "some words"
    with_charset = (
        "AddDefaultCharset utf-8\nAddCharset utf-8 .txt\nAddOutputFilterByType CASEFILTER text/plain"
    )
    assert ask(tmp_path, with_charset).body == "SOME WORDS"


def test_a_file_of_another_type_has_no_filter_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(Harness, "begin", lambda _self, r: begun.append(r.uri))
    serving = engine(tmp_path, "AddOutputFilterByType CASEFILTER text/plain")
    assert [fetch(serving, path).body for path in ("/a.png", "/a.html", "/a.txt")] == [
        "x",
        "<b>",
        "some words",
    ]
    assert begun == ["/a.txt"]


def test_an_index_of_text_html_is_filtered_by_its_final_type(tmp_path: Path) -> None:
    conf = "<Directory />\nOptions +Indexes\n</Directory>\nAddOutputFilterByType CASEFILTER text/html"
    assert "<TITLE>INDEX OF /" in ask(tmp_path, conf, "/").body


def test_filtered_responses_are_cached(tmp_path: Path) -> None:
    serving = engine(tmp_path, "FilterProvider up CASEFILTER \"%{HTTP:X-Up} == 'yes'\"\nFilterChain up")
    for _ in range(5):
        assert fetch(serving, "/a.txt", "X-Up: yes").body == "SOME WORDS"
        assert fetch(serving, "/a.txt", "X-Up: no").body == "some words"
    assert fetch(serving, "/a.txt").get("Vary") == "X-Up"


def test_the_provider_that_was_declared_last_is_tested_first(tmp_path: Path) -> None:
    conf = (
        "LoadModule include_module m/mod_include.so\n<Directory />\nOptions +Includes\n</Directory>\n"
        "FilterProvider up CASEFILTER true\nFilterProvider up INCLUDES \"%{REQUEST_URI} == '/a.html'\"\n"
        "FilterChain up"
    )
    assert ask(tmp_path, conf, "/a.html").body == "<b>"
    assert ask(tmp_path, conf).body == "SOME WORDS"


@pytest.mark.parametrize(
    ("flags", "fields"),
    [
        ("change=yes", {"ETag": None}),
        ("CHANGE=1:1", {"ETag": None}),
        ("cache=no", {"Last-Modified": None, "Cache-Control": "no-cache"}),
        ("byteranges=no", {"Accept-Ranges": "none"}),
        ('"change=yes;cache=no,change=no"', {"Cache-Control": "no-cache"}),
        ("proxy=no", {"Accept-Ranges": "bytes"}),
        ("bogus", {"Accept-Ranges": "bytes"}),
    ],
)
def test_protocol_of_a_provider_changes_fields(
    tmp_path: Path, flags: str, fields: dict[str, str | None]
) -> None:
    reply = ask(tmp_path, UP + f"FilterProtocol up CASEFILTER {flags}")
    assert reply.body == "SOME WORDS"
    assert {name: reply.get(name) for name in fields} == fields


def test_protocol_of_a_filter_hides_range_until_a_provider_is_selected(tmp_path: Path) -> None:
    serving = engine(
        tmp_path,
        "FilterProvider up CASEFILTER \"%{REQUEST_URI} == '/a.txt'\"\n"
        "FilterProtocol up byteranges=no\nFilterChain up",
    )
    assert fetch(serving, "/a.txt", RANGE).body == "OM"  # as httpd restores the field
    assert fetch(serving, "/a.html", RANGE).body == "<b>"


def test_byteranges_no_on_both_sends_the_whole(tmp_path: Path) -> None:
    conf = UP + "FilterProtocol up byteranges=no\nFilterProtocol up CASEFILTER byteranges=no"
    assert ask(tmp_path, conf, "/a.txt", RANGE).body == "SOME WORDS"


def test_filter_errordocs_admits_error_documents(tmp_path: Path) -> None:
    conf = UP + "ErrorDocument 404 /err.txt\n"
    assert ask(tmp_path, conf, "/none").body == "oops"
    assert ask(tmp_path, conf + "SetEnv filter-errordocs 1", "/none").body == "OOPS"


def test_the_handler_of_a_file_is_its_media_type(tmp_path: Path) -> None:
    conf = "FilterProvider up CASEFILTER \"%{HANDLER} == 'text/plain'\"\nFilterChain up"
    assert (ask(tmp_path, conf).body, ask(tmp_path, conf, "/a.html").body) == ("SOME WORDS", "<b>")


def test_trace_logs_the_first_brigade(tmp_path: Path) -> None:
    serving = engine(tmp_path, "LogLevel filter:debug\n" + UP + "FilterTrace up 1")
    fetch(serving, "/a.txt")
    text = b"".join(b"".join(parts) for parts in serving.runtime.logs.values()).decode()  # type: ignore[attr-defined]
    assert [line.partition("AH0137")[2] for line in text.splitlines() if "AH0137" in line] == [
        "5: up",
        "6: up: type: FILE, length: 10",
        "6: up: type: EOS, length: 0",
    ]


def test_a_provider_that_may_run_subrequests_takes_no_slot() -> None:
    """A sub-request that waits for a slot would wait for that of its main request."""
    computed, includes = FilterRule(BrotliCompress()), FilterRule(Includes())
    assert Harness(SmartFilter("x", rules=(computed, computed)), {}).is_computed
    assert not Harness(SmartFilter("x", rules=(computed, includes)), {}).is_computed
