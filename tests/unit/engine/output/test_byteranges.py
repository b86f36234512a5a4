"""Ranges of a response: RFC 9110 section 14, and httpd's limits."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.unit.modules.access import Site

# Range, status, Content-Range, body; the document is "page\n"
SINGLE = {
    "first bytes": ("bytes=0-1", 206, "bytes 0-1/5", "pa"),
    "from a byte on": ("bytes=3-", 206, "bytes 3-4/5", "e\n"),
    "last bytes": ("bytes=-2", 206, "bytes 3-4/5", "e\n"),
    "more than there is": ("bytes=2-99", 206, "bytes 2-4/5", "ge\n"),
    "longer suffix": ("bytes=-99", 206, "bytes 0-4/5", "page\n"),
    "other unit": ("lines=0-1", 200, None, "page\n"),
    "not a range": ("bytes=x", 200, None, "page\n"),
    "backwards": ("bytes=3-1", 200, None, "page\n"),
    "one of two fits": ("bytes=0-0,90-", 206, "bytes 0-0/5", "p"),
}


@pytest.mark.parametrize("case", SINGLE)
def test_one_range(tmp_path: Path, case: str) -> None:
    value, status, content_range, text = SINGLE[case]
    head, _, body = Site(tmp_path, "").ask(headers=f"Range: {value}\r\n").partition("\r\n\r\n")
    found = re.search("\r\nContent-Range: (.*)", head + "\r\n")
    assert (int(head.split(" ")[1]), found and found[1].rstrip("\r"), body) == (status, content_range, text)
    assert f"\r\nContent-Length: {len(text)}" in head


def test_a_range_that_no_byte_is_in(tmp_path: Path) -> None:
    answer = Site(tmp_path, "").ask(headers="Range: bytes=5-\r\n")
    assert answer.startswith("HTTP/1.1 416 Requested Range Not Satisfiable\r\n")
    assert "None of the range-specifier values" in answer and "\r\nContent-Range:" not in answer


def test_several_ranges_are_parts_of_a_multipart_body(tmp_path: Path) -> None:
    """Each part has its own Content-Range; the boundary ends the body (RFC 9110, 14.6)."""
    answer = Site(tmp_path, "").ask(headers="Range: bytes=0-0,3-3\r\n")
    head, _, body = answer.partition("\r\n\r\n")
    boundary = re.search("\r\nContent-Type: multipart/byteranges; boundary=(\\S+)", head)
    assert boundary is not None and head.startswith("HTTP/1.1 206 ")
    first, second, end = body.split(f"--{boundary[1]}")[1:]
    assert "Content-range: bytes 0-0/5\r\n\r\np" in first and "Content-range: bytes 3-3/5\r\n\r\ne" in second
    assert end == "--\r\n" and f"\r\nContent-Length: {len(body)}" in head


@pytest.mark.parametrize(("same", "status"), [(True, 206), (False, 200)])
def test_if_range_compares_the_entity_tag(tmp_path: Path, same: bool, status: int) -> None:
    site = Site(tmp_path, "")
    os.utime(tmp_path / "htdocs/f.html", (1_600_000_000, 1_600_000_000))  # an older file has a strong tag
    etag = re.search('\r\nETag: ("[^"]*")', site.ask())
    assert etag is not None
    value = etag[1] if same else '"other"'
    assert site.status(headers=f"If-Range: {value}\r\nRange: bytes=0-0\r\n") == status


def test_max_ranges_none_sends_the_whole_document(tmp_path: Path) -> None:
    answer = Site(tmp_path, "MaxRanges none\n").ask(headers="Range: bytes=0-1\r\n")
    assert answer.startswith("HTTP/1.1 200 ") and "\r\nAccept-Ranges: none\r\n" in answer


def test_more_ranges_than_max_ranges_send_the_whole_document(tmp_path: Path) -> None:
    assert Site(tmp_path, "MaxRanges 2\n").status(headers="Range: bytes=0-0,2-2,4-4\r\n") == 200
