"""HttpProtocolOptions, KeepAlive and their neighbours with the messages of 2.4.71 and 2.2.34."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.base.dialect import V22
from whimbrel.config.core_config import CoreServerConfig

LINE = "AH00526: Syntax error on line 1 of @/conf/httpd.conf:\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("KeepAlive banana", "KeepAlive must be On or Off"),
        ("KeepAliveTimeout 5S", "KeepAliveTimeout has wrong format"),
        ("KeepAliveTimeout -1", "KeepAliveTimeout has wrong format"),
        ("TraceEnable bogus", "TraceEnable must be one of 'on', 'off', or 'extended'"),
        ("ProtocolsHonorOrder Bogus", "ProtocolsHonorOrder must be 'on' or 'off'"),
        (
            "HttpProtocolOptions Allow0.9 Require1.0",
            "HttpProtocolOptions 'Allow0.9' and 'Require1.0' are mutually exclusive",
        ),
        (
            "HttpProtocolOptions RegisteredMethods LenientMethods",
            "HttpProtocolOptions 'RegisteredMethods' and 'LenientMethods' are mutually exclusive",
        ),
        (
            "HttpProtocolOptions Bogus",
            "HttpProtocolOptions accepts 'Unsafe' or 'Strict' (default), 'RegisteredMethods' or "
            "'LenientMethods' (default), "
            "and 'Require1.0' or 'Allow0.9' (default)",
        ),
    ],
)
def test_refused(tmp_path: Path, line: str, reason: str) -> None:
    assert Site(tmp_path, line + "\n").check() == LINE + reason


@pytest.mark.parametrize(
    ("word", "on"), [("On", True), ("banana", True), ("1", True), ("5", True), ("0", False), ("oFF", False)]
)
def test_keep_alive_of_22(tmp_path: Path, word: str, on: bool) -> None:
    assert Site(tmp_path, f"KeepAlive {word}\n").load(V22).main.config(CoreServerConfig).keep_alive is on


@pytest.mark.parametrize(
    ("word", "new", "old"), [("500ms", 0.5, 500.0), ("2h", 7200.0, 2.0), ("5", 5.0, 5.0)]
)
def test_keep_alive_timeout(tmp_path: Path, word: str, new: float, old: float) -> None:
    site = Site(tmp_path, f"KeepAliveTimeout {word}\n")
    assert site.load().main.config(CoreServerConfig).keep_alive_timeout == new
    assert site.load(V22).main.config(CoreServerConfig).keep_alive_timeout == old


def test_values(tmp_path: Path) -> None:
    conf = Site(
        tmp_path,
        "HttpProtocolOptions Unsafe RegisteredMethods Require1.0\nRegisterHttpMethod FOO\nTraceEnable "
        "Extended\nProtocols h2 H2 h2\n",
    ).load()
    server = conf.main.config(CoreServerConfig)
    assert (server.strict_http, server.registered_methods, server.allow_http09, server.trace_enable) == (
        False,
        True,
        False,
        2,
    )
    assert conf.methods.number("FOO") > 26
    assert server.protocols == ["h2", "H2"]
