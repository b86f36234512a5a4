"""Ranges and conditions against recorded responses of the real servers."""

from __future__ import annotations

import re
from itertools import chain

from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions, range_still_fits
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.ranges import (
    RangeLimits,
    RangeResult,
    content_range,
    multipart_end,
    parse_ranges,
    part_head,
    range_header,
)

MODIFIED = 1600000000
NOW = 1763700000


def limits_of(conf):
    def number(name, default):
        match = re.search(rf"\b{name} (\S+)", conf)
        if match is None or match[1] == "default":
            return default
        return int(match[1]) if match[1].isdigit() else {"none": 0, "unlimited": -1}[match[1]]

    return RangeLimits(
        number("MaxRanges", 200), number("MaxRangeOverlaps", 20), number("MaxRangeReversals", 20)
    )


def plain_file_answers(answers):
    for title in ("Range: single", "random Range", "MaxRange", "more than 200", "If-Range"):
        for case, version, request, response in answers("core-http", title):
            body = case["files"].get("htdocs" + request.get("path", "/"))
            if request.get("method", "GET") == "GET" and isinstance(body, str) and "raw" not in response:
                yield case, version, request, response, body


def test_every_recorded_range(answers):
    seen = 0
    for case, version, request, response, body in plain_file_answers(answers):
        conf = case["conf"] if isinstance(case["conf"], str) else case["conf"][version]
        old = version == "2.2"
        headers = Headers({k: v.strip() for k, v in request.get("headers", {}).items()}.items())
        etag = '"64-5af3107a40000"' if request["path"] == "/a.txt" else None
        sent = range_header(headers, version22=old)
        if sent is not None and not range_still_fits(headers, etag, MODIFIED, NOW, version22=old):
            sent = None
        found = parse_ranges(sent, len(body), limits_of(conf), version22=old)
        where = (case["id"], version, request, response["status"], found)
        assert {RangeResult.FULL: 200, RangeResult.PARTS: 206, RangeResult.UNSATISFIABLE: 416}[
            found.verdict
        ] == response["status"], where
        if found.verdict is RangeResult.PARTS:
            seen += 1
            fields = dict(map(tuple, response["headers"]))
            if len(found.parts) == 1:
                assert fields["Content-Range"] == content_range(found.parts[0], len(body)), where
            elif response.get("body") is not None:
                kind = fields_type(request)
                pieces = chain.from_iterable(
                    (part_head(part, len(body), "@BOUNDARY@", kind), body[part[0] : part[1] + 1].encode())
                    for part in found.parts
                )
                assert (b"".join(pieces) + multipart_end("@BOUNDARY@")).decode() == response["body"], where
    assert seen > 100


def fields_type(request):
    return {"txt": "text/plain", "bin": "application/octet-stream", "html": "text/html"}.get(
        request["path"].rsplit(".", 1)[-1]
    )


def test_every_recorded_condition(answers):
    seen = 0
    for title in ("If-Modified-Since", "If-None-Match", "If-Match", "If-Unmodified-Since"):
        for case, version, request, response in answers("core-http", title):
            headers = Headers({k: v.strip() for k, v in request.get("headers", {}).items()}.items())
            etag = '"64-5af3107a40000"'
            found = meets_conditions(
                request.get("method", "GET"), headers, etag, MODIFIED, NOW, version22=version == "2.2"
            )
            want = {
                PreconditionResult.OK: 200,
                PreconditionResult.NOT_MODIFIED: 304,
                PreconditionResult.FAILED: 412,
            }[found]
            assert want == response["status"], (case["id"], version, request, response["status"])
            seen += 1
    assert seen > 200
