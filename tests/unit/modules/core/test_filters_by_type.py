"""AddOutputFilterByType of 2.2: files, types of handlers, error pages."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine

LOAD = "LoadModule case_filter_module m/mod_case_filter.so\n"
FILES = {"htdocs/a.txt": "some words", "htdocs/a.html": "<b>", "htdocs/e": "none"}


def engine(root: Path, conf: str) -> Engine:
    return build_engine(root, LOAD + conf + "\n", FILES, "2.2")


def test_the_type_of_a_file_selects_with_case_and_without_parameters(tmp_path: Path) -> None:
    serving = engine(tmp_path, "AddOutputFilterByType CASEFILTER text/plain\nAddCharset x .txt")
    assert [fetch(serving, path).body for path in ("/a.txt", "/a.html", "/e")] == [
        "SOME WORDS",
        "<b>",
        "none",
    ]
    assert (
        fetch(engine(tmp_path, "AddOutputFilterByType CASEFILTER TEXT/plain"), "/a.txt").body == "some words"
    )


def test_force_type_adds_the_filters_of_both_types(tmp_path: Path) -> None:
    for kind in ("text/html", "text/x"):
        serving = engine(tmp_path, f"AddOutputFilterByType CASEFILTER {kind}\nForceType text/x")
        assert fetch(serving, "/a.html").body == "<B>"


def test_the_type_of_a_handler_selects(tmp_path: Path) -> None:
    serving = engine(
        tmp_path, "<Directory />\nOptions +Indexes\n</Directory>\nAddOutputFilterByType CASEFILTER text/html"
    )
    assert "<TITLE>INDEX OF /" in fetch(serving, "/").body


def test_error_pages_are_filtered_by_their_type(tmp_path: Path) -> None:
    serving = engine(tmp_path, "AddOutputFilterByType CASEFILTER text/html")
    assert "<TITLE>404 NOT FOUND</TITLE>" in fetch(serving, "/none.txt").body
    serving = engine(tmp_path, "AddOutputFilterByType CASEFILTER text/plain")
    assert "<title>404 Not Found</title>" in fetch(serving, "/none.txt").body


def test_unknown_filters_are_logged_for_each_type(tmp_path: Path) -> None:
    serving = engine(tmp_path, "AddOutputFilterByType NOSUCH text/plain")
    for path in ("/a.txt", "/a.txt", "/a.html", "/e"):
        fetch(serving, path)
    text = b"".join(b"".join(parts) for parts in serving.runtime.logs.values()).decode()  # type: ignore[attr-defined]
    assert text.count("an unknown filter was not added: NOSUCH") == 2
