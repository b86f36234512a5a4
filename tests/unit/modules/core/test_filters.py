"""SetOutputFilter and SetInputFilter: names, and what remains of a chain on errors and redirects."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.engine.output.filter import (
    FilterType,
    OutputFilter,
    add_output_filter,
    keep_protocol_filters,
    protocol_filters,
)

LOAD = "LoadModule case_filter_module m/mod_case_filter.so\nLoadModule ratelimit_module m/mod_ratelimit.so\n"
FILES = {"htdocs/a.txt": "some words", "htdocs/d/index.html": "index"}


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("SetOutputFilter ;CASEFILTER", [""]),
        ("SetOutputFilter CASEFILTER;;NoSuch;", ["NoSuch"]),
        ("AddOutputFilter NoSuch;CASEFILTER;;X txt", ["nosuch", "x"]),
        ("SetOutputFilter BYTERANGE;CONTENT_LENGTH;SUBREQ_CORE;FIXUP_HEADERS_OUT", []),
        ("SetOutputFilter HTTP_IN;EXPIRES;XLATE;KEPT_BODY", ["HTTP_IN", "EXPIRES", "XLATE", "KEPT_BODY"]),
        ("SetInputFilter HTTP_IN;CASEFILTER;BYTERANGE", ["CASEFILTER", "BYTERANGE"]),
        ("AddInputFilter CASEFILTER;NoSuch txt", ["casefilter", "nosuch"]),
    ],
)
def test_names_that_are_logged_as_unknown(tmp_path: Path, line: str, unknown: list[str]) -> None:
    serving = build_engine(tmp_path, LOAD + line + "\n", FILES)
    fetch(serving, "/a.txt")
    text = b"".join(b"".join(parts) for parts in serving.runtime.logs.values()).decode()  # type: ignore[attr-defined]
    assert [row.partition("added: ")[2] for row in text.splitlines() if "AH00082" in row] == unknown


def test_error_pages_and_options_have_no_content_filters(tmp_path: Path) -> None:
    conf = LOAD + 'SetOutputFilter CASEFILTER\nErrorDocument 404 "text\n'
    assert fetch(build_engine(tmp_path, conf, FILES), "/none").body == "text"


def test_an_error_document_is_filtered_for_itself(tmp_path: Path) -> None:
    conf = LOAD + "ErrorDocument 404 /a.txt\n<Files a.txt>\nSetOutputFilter CASEFILTER\n</Files>\n"
    assert fetch(build_engine(tmp_path, conf, FILES), "/none").body == "SOME WORDS"


def test_a_directory_index_takes_the_filters_of_its_file(tmp_path: Path) -> None:
    for line in (
        "<Files index.html>\nSetOutputFilter CASEFILTER\n</Files>",
        "AddOutputFilter CASEFILTER html",
    ):
        assert fetch(build_engine(tmp_path, LOAD + line + "\n", FILES), "/d/").body == "INDEX"


class Each(OutputFilter):
    """A filter of a given type."""

    __slots__ = ("type",)
    name = "EACH"

    def __init__(self, kind: int) -> None:
        self.type = kind

    def begin(self, r: object) -> None: ...


class Holder:
    """A request, as far as its chain goes."""

    def __init__(self) -> None:
        self.output_filters: list[OutputFilter] = []


def test_filters_of_the_protocol_outlive_an_error() -> None:
    r: Holder = Holder()
    for kind in (FilterType.PROTOCOL + 3, FilterType.RESOURCE, FilterType.CONTENT_SET, FilterType.PROTOCOL):
        add_output_filter(r, Each(kind))  # type: ignore[arg-type]
    kept = protocol_filters(r)  # type: ignore[arg-type]
    assert [each.type for each in kept] == [FilterType.PROTOCOL, FilterType.PROTOCOL + 3]
    keep_protocol_filters(r)  # type: ignore[arg-type]
    assert r.output_filters == kept
