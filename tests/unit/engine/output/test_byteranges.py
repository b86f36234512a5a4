"""Ranges of a response: RFC 9110 section 14, and httpd's limits."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.support.access_site import AccessSite

from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient

MODULES = "mpm_event authz_core dir headers"
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
    head, _, body = AccessSite(tmp_path, "").fetch(headers=f"Range: {value}\r\n").partition("\r\n\r\n")
    found = re.search("\r\nContent-Range: (.*)", head + "\r\n")
    assert (int(head.split(" ")[1]), found and found[1].rstrip("\r"), body) == (status, content_range, text)
    assert f"\r\nContent-Length: {len(text)}" in head


def test_a_range_that_no_byte_is_in(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "").fetch(headers="Range: bytes=5-\r\n")
    assert answer.startswith("HTTP/1.1 416 Requested Range Not Satisfiable\r\n")
    assert "None of the range-specifier values" in answer and "\r\nContent-Range:" not in answer


def test_fields_of_a_416(tmp_path: Path) -> None:
    """The header filter of 2.4 has merged the tables of fields: the page has what the error filter adds."""
    site = AccessSite(tmp_path, "Header always add X-A a\nHeader set X-S s\n", modules=MODULES)
    head = site.fetch(headers="Range: bytes=5-\r\n").partition("\r\n\r\n")[0]
    assert head.count("X-A: a") == 1 and "X-S" not in head and "Last-Modified" not in head


def test_a_416_counts_twice(tmp_path: Path) -> None:
    """Recorded of 2.4.71 with MaxKeepAliveRequests 3."""
    site = AccessSite(tmp_path, "MaxKeepAliveRequests 3\n")
    client = TestClient(site.engine, Connection("127.0.0.1", 5000, "127.0.0.1", 8080))
    head = "GET /f.html HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n"
    data = client.send(f"{head}Range: bytes=5-\r\n\r\n".encode()) + client.send(f"{head}\r\n".encode())
    assert re.findall("max=[0-9]+", data.decode("latin-1")) == ["max=2", "max=1"]


def test_several_ranges_are_parts_of_a_multipart_body(tmp_path: Path) -> None:
    """Each part has its own Content-Range; the boundary ends the body (RFC 9110, 14.6)."""
    answer = AccessSite(tmp_path, "").fetch(headers="Range: bytes=0-0,3-3\r\n")
    head, _, body = answer.partition("\r\n\r\n")
    boundary = re.search("\r\nContent-Type: multipart/byteranges; boundary=(\\S+)", head)
    assert boundary is not None and head.startswith("HTTP/1.1 206 ")
    first, second, end = body.split(f"--{boundary[1]}")[1:]
    assert "Content-range: bytes 0-0/5\r\n\r\np" in first and "Content-range: bytes 3-3/5\r\n\r\ne" in second
    assert end == "--\r\n" and f"\r\nContent-Length: {len(body)}" in head


def test_one_boundary_per_server(tmp_path: Path) -> None:
    site = AccessSite(tmp_path, "")
    boundary = f"boundary={site.engine.configuration.boundary}\r\n"
    assert all(boundary in site.fetch(headers="Range: bytes=0-0,3-3\r\n") for _ in range(2))
    assert int(site.engine.configuration.boundary, 16) < 1 << 64


@pytest.mark.parametrize(("same", "status"), [(True, 206), (False, 200)])
def test_if_range_compares_the_entity_tag(tmp_path: Path, same: bool, status: int) -> None:
    site = AccessSite(tmp_path, "")
    os.utime(tmp_path / "htdocs/f.html", (1_600_000_000, 1_600_000_000))  # an older file has a strong tag
    etag = re.search('\r\nETag: ("[^"]*")', site.fetch())
    assert etag is not None
    value = etag[1] if same else '"other"'
    assert site.status(headers=f"If-Range: {value}\r\nRange: bytes=0-0\r\n") == status


@pytest.mark.parametrize(("year", "status"), [(2020, 206), (2015, 200)])
def test_if_range_compares_the_time_of_the_file(tmp_path: Path, year: int, status: int) -> None:
    """Asked of 2.4.71: also where Last-Modified is not sent."""
    site = AccessSite(tmp_path, "Header unset Last-Modified\n", modules=MODULES)
    os.utime(tmp_path / "htdocs/f.html", (1_600_000_000, 1_600_000_000))
    value = f"Sun, 13 Sep {year} 12:26:40 GMT"
    assert site.status(headers=f"If-Range: {value}\r\nRange: bytes=0-0\r\n") == status


def test_max_ranges_none_sends_the_whole_document(tmp_path: Path) -> None:
    answer = AccessSite(tmp_path, "MaxRanges none\n").fetch(headers="Range: bytes=0-1\r\n")
    assert answer.startswith("HTTP/1.1 200 ") and "\r\nAccept-Ranges: none\r\n" in answer


def test_more_ranges_than_max_ranges_send_the_whole_document(tmp_path: Path) -> None:
    assert AccessSite(tmp_path, "MaxRanges 2\n").status(headers="Range: bytes=0-0,2-2,4-4\r\n") == 200
