"""Values of directives: the messages are those of apache2 -t 2.4.71."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from whimbrel.base.errors import ConfigError
from whimbrel.modules.md.mod_md import values
from whimbrel.modules.md.mod_md.settings import KeyKind, Slice


def reason(function: Callable[..., object], *arguments: object) -> str:
    try:
        function(*arguments)
    except ConfigError as problem:
        return problem.reason
    return ""


def test_durations() -> None:
    words = ("4d", "1D", "5mi", "10s", "5", "1w", "x", "", "250ms")
    assert [values.duration(word) for word in words] == [
        *(345_600, 86_400, 300, 10, 5, None, None, None),
        0.25,
    ]
    assert values.duration("21", "d") == 21 * 86_400


def test_durations_as_md_json_has_them() -> None:
    assert [values.duration_text(seconds) for seconds in (0, 90, 120, 7200, 172_800, 0.5)] == [
        *("0d", "90s", "2mi", "2h", "2d", "500ms")
    ]


def test_durations_in_log_lines() -> None:
    assert values.duration_words(43_198) == "11 hours 59 minutes 58 seconds"  # a line of httpd 2.4.71
    assert values.duration_words(23.4) == "23 seconds"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("RSA RSA 2048", "two keys of type 'RSA' are not possible."),
        ("a b A", "two keys of type 'A' are not possible."),
        ("default rsa", "'Default' allows no other parameter"),
        ("RSA 1000000000000", "must be 2048 or higher in order to be considered safe."),
        ("secp384r1 rsa 4096", ""),
        ("", "needs to specify the private key type"),
    ],
)
def test_kinds_of_keys(words: str, said: str) -> None:
    assert reason(values.key_specs, words.split()) == said


def test_kinds_of_keys_in_order() -> None:
    found = values.key_specs(["secp384r1", "rsa3072", "P-256"])
    assert found == (KeyKind("EC", curve="secp384r1"), KeyKind("RSA", 3072), KeyKind("EC", curve="P-256"))
    assert [spec.name for spec in found] == ["secp384r1", "rsa", "P-256"]


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http:", "missing uri identifier"),
        ("http:x", "missing hostname"),
        ("http://h:x/", "not an uri"),
        ("http://h:/", "invalid port"),
        ("https://[::1]/", "invalid hostname"),
        ("http://a_b/", "invalid hostname"),
        ("https://h/ x", "whitespace in uri"),
        ("/x", "missing uri scheme"),
        ("1:x", "not an uri"),
        ("x:y", ""),
        ("http://u@h/", ""),
        ("http:///x", ""),
    ],
)
def test_urls_of_certificate_authorities(url: str, wrong: str) -> None:
    expected = (
        f"The CA name '{url}' is not known and it is not a URL either ({wrong}). Known CA names are: "
        "LetsEncrypt LetsEncrypt-Test Buypass Buypass-Test."
    )
    assert reason(values.authority, url) == (expected if wrong else "")


def test_names_of_certificate_authorities() -> None:
    assert values.authority("LetsEncrypt") == "https://acme-v02.api.letsencrypt.org/directory"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("80:8000", ""),
        ("http:-", ""),
        ("https:1", ""),
        ("81:1", "mapped port number must be 80 or 443"),
        ("80", "no ':' after first port number"),
        ("80:0", "invalid number for port map, must be in ]0,65535]"),
        ("80:65536", "invalid number for port map, must be in ]0,65535]"),
    ],
)
def test_port_maps(word: str, said: str) -> None:
    assert reason(values.port_map, word) == said


def test_windows() -> None:
    assert values.window("MDRenewWindow", "33%") == Slice(percent=33)
    assert values.window("MDRenewWindow", "21") == Slice(21 * 86_400)
    assert values.window("MDRenewWindow", "7hx") == Slice(7 * 3600)
    assert values.window("MDWarnWindow", "%") == Slice()
    assert reason(values.window, "MDWarnWindow", "h") == "MDWarnWindow has unrecognized format"
    text = "MDRenewWindow a length of 100% or more is not allowed."
    assert reason(values.window, "MDRenewWindow", "100%") == text


@pytest.mark.parametrize(
    ("word", "said"),
    [("http:/h", "missing hostname"), ("ftp://x", "uri scheme must be http or https"), ("http://x", "")],
)
def test_proxies(word: str, said: str) -> None:
    assert reason(values.proxy_url, word) == said
