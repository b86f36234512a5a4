"""SSLRequire: the language of 2.2, and comparisons by length."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.tls import case, recorded_tls
from tests.support.tls_site import TlsSite

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import by_length

RECORDED = (16, 17, 18, 20, 21, 24, 30, 31)
SHORTER_IS_LESS = (("2", "10", -1), ("b", "aa", -1), ("a", "b", -1), ("x", "x", 0))


def condition_of(number: int) -> str:
    """Return the condition of a recorded case."""
    conf = case(number)["conf"]
    found = re.search(r"(?m)^SSLRequire (.*)$", conf if isinstance(conf, str) else conf["2.2"])
    assert found is not None
    return found[1]


def status(root: Path, condition: str, version: str) -> int:
    """Return the status of a request over TLS 1.2 from 127.0.0.1."""
    site = TlsSite(root, f"<Location /in>\nSSLRequire {condition}\n</Location>\n", version)
    return site.status_over(recorded_tls(), "/in/f.html")


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("number", RECORDED)
def test_recorded_conditions(tmp_path: Path, number: int, version: str) -> None:
    expected = case(number)["answers"][version]["responses"][7]["status"]
    assert status(tmp_path, condition_of(number), version) == expected


@pytest.mark.parametrize(("first", "second", "expected"), SHORTER_IS_LESS)
def test_shorter_texts_are_less(first: str, second: str, expected: int) -> None:
    assert by_length(first, second) == expected
    assert by_length(second, first) == -expected


@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        ("true", True),
        ("!true", False),
        ("not false and true", True),
        ("false || ( true && true )", True),
        ('%{SSL_PROTOCOL} in {"TLSv1", "TLSv1.2"}', True),
        ("%{SSL_CIPHER} !~ m#^RC4#", True),
        ("%{SSL_CIPHER} =~ m/^ecdhe/i", True),
        ('%{UNKNOWN} eq ""', True),
        ('file("conf/users") =~ m/alice/', True),
        ("%{SSL_CIPHER_USEKEYSIZE} > 99", True),
    ],
)
def test_language_of_22(tmp_path: Path, condition: str, is_true: bool) -> None:
    site = TlsSite(
        tmp_path, f'ServerRoot "{tmp_path}"\n<Location /in>\nSSLRequire {condition}\n</Location>\n', "2.2"
    )
    assert site.status_over(recorded_tls(), "/in/f.html") == (200 if is_true else 403)


@pytest.mark.parametrize(
    "condition", ["bogus", "", "true true", '"a" ==', "( true", '"a" in { }', "(" * 5000]
)
def test_syntax_errors_of_22(tmp_path: Path, condition: str) -> None:
    with pytest.raises(ConfigError) as caught:
        status(tmp_path, condition, "2.2")
    assert caught.value.reason == "SSLRequire: syntax error"


@pytest.mark.parametrize("number", [27, 28])
def test_recorded_errors_of_24(tmp_path: Path, number: int) -> None:
    conf = case(number)["conf"]
    line = re.search(r"(?m)^SSLRequire ?(.*)$", conf if isinstance(conf, str) else conf["2.4"])
    assert line is not None
    with pytest.raises(ConfigError) as caught:
        status(tmp_path, line[1], "2.4")
    assert caught.value.reason == case(number)["answers"]["2.4"]["startup"][1]
