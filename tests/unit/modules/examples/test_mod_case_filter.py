"""mod_case_filter: the bytes and the framing of filtered responses."""

from __future__ import annotations

from pathlib import Path

from tests.support.client import fetch
from tests.support.engine import build_engine

LOAD = "LoadModule case_filter_module modules/mod_case_filter.so\n"
BIG = "ab\n" * 100_000
FILES = {"htdocs/a.txt": "some words", "htdocs/big.txt": BIG}


def test_a_complete_body_keeps_its_length(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, LOAD + "SetOutputFilter CASEFILTER", FILES), "/a.txt")
    assert (reply.body, reply.get("Content-Length")) == ("SOME WORDS", "10")


def test_a_large_file_is_filtered_in_pieces(tmp_path: Path) -> None:
    reply = fetch(build_engine(tmp_path, LOAD + "SetOutputFilter CASEFILTER", FILES), "/big.txt")
    assert reply.body == BIG.upper()


def test_case_filter_on_applies_to_the_server(tmp_path: Path) -> None:
    assert fetch(build_engine(tmp_path, LOAD + "CaseFilter On", FILES), "/a.txt").body == "SOME WORDS"


def test_ranges_select_bytes_of_the_filtered_body(tmp_path: Path) -> None:
    engine = build_engine(tmp_path, LOAD + "SetOutputFilter CASEFILTER", FILES)
    assert fetch(engine, "/a.txt", "Range: bytes=0-3").body == "SOME"
