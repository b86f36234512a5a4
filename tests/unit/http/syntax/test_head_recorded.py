"""Heads of requests against what the real servers answered."""

from __future__ import annotations

import re

from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, InputState, ParserOptions


def rules_of(conf: str, version: str) -> ParserOptions:
    strict = "HttpProtocolOptions Unsafe" not in conf
    return ParserOptions(
        strict=strict,
        allow09="Require1.0" not in conf,
        registered_methods="RegisteredMethods" in conf,
        version22=version == "2.2",
    )


def limits_of(conf: str) -> HeadLimits:
    def number(name: str, default: int) -> int:
        match = re.search(rf"^{name} (\d+)$", conf, re.MULTILINE)
        return int(match[1]) if match else default

    return HeadLimits(
        number("LimitRequestLine", 8190),
        number("LimitRequestFieldSize", 8190),
        number("LimitRequestFields", 100),
    )


def first_status(response):
    if "raw" in response:
        match = re.match(r"HTTP/1\.[01] (\d{3}) ", response["raw"])
        return int(match[1]) if match else 0 if response["raw"] else None
    return response["status"]


TITLES = (
    "request lines",
    "header lines",
    "bare LF",
    "Host header",
    "Transfer-Encoding",
    "Content-Length values",
    "Expect",
    "limits",
)


def test_every_recorded_head_is_refused_as_recorded(answers):
    seen = 0
    for title in TITLES:
        for case, version, request, response in answers("core-http", title):
            conf = case["conf"] if isinstance(case["conf"], str) else case["conf"][version]
            data = request["raw"].encode("latin-1")
            head = read_head(data, limits_of(conf), rules_of(conf, version), ending=InputState.EOF)
            where = (case["id"], version, request["raw"][:200])
            assert head is not None, where
            status = first_status(response)
            later = version == "2.2" and (head.length_bad or not head.uri.startswith("/"))
            if head.error is not None:
                assert head.error.status == status, (where, head.error)
                if head.error.notes:
                    assert head.error.notes in response["raw"], where
                assert bool(head.error.additional) == ("Additionally" in response["raw"]), where
            elif not later:
                assert status not in (400, 414, 417), (where, head)
            seen += 1
    assert seen > 400
