"""Masks: what may differ between two runs, and what may not."""

from __future__ import annotations

import pytest

from tests.conformance.masks import (
    CaseMask,
    SiteMask,
    has_product,
    mask_access_line,
    mask_process_numbers,
    mask_product,
    matches,
    sort_unordered,
)

SITE = SiteMask("/tmp/server-x", "/tmp/server-x/htdocs", (10080, 10081, 10082))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/tmp/server-x/htdocs/a.html", "@DOCROOT@/a.html"),
        ("/tmp/server-x/logs", "@SERVERROOT@/logs"),
        ("http://localhost:10080/ :10081 :10082", "http://localhost:@PORT@/ :@PORT2@ :@PORT3@"),
        ("210080 100805", "210080 100805"),
        (
            "[Sun Nov 22 12:00:00.1 2026] [core:error] [pid 7:tid 8] [client 127.0.0.1:50123] AH00001: x",
            "[core:error] [client 127.0.0.1:*] AH00001: x",
        ),
        ("[Sun Nov 22 12:00:00 2026] [error] [client 127.0.0.1] x", "[error] [client 127.0.0.1] x"),
        ("a [Sun Nov 22 12:00:00 2026] x", "a [Sun Nov 22 12:00:00 2026] x"),
        ("one\n[Mon Nov 23 12:00:00 2026] two", "one\ntwo"),
    ],
)
def test_site_mask(text: str, masked: str) -> None:
    assert SITE(text) == masked


def test_masks_of_a_case_come_after_those_of_the_site() -> None:
    mask = CaseMask(SITE, ((r"@PORT@ (\d+)", r"@PORT@ <\1>"), ("<5>", "@NUMBER@")))
    assert mask("10080 5 10080 6") == "@PORT@ @NUMBER@ @PORT@ <6>"


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("", ""),
        ("same", "same"),
        ("at @DATE@.", "at 12:00."),
        ("@DATE@", ""),
        ("@nonce@ and @DATE+5@", "x and y"),
        ("a @TOKEN1@ b @TOKEN1@ b", "a 1 b 2 b b"),
        ("@PORT@ @DATE@", "@PORT@ today"),
        ("Server: Apache/2.4.71 (Debian)", "Server: Whimbrel/0.1 (Unix)"),
        ("apache2: Syntax error", "whimbrel-httpd: Syntax error"),
        ("Apache/2.2.34 (Unix) DAV/2", "Whimbrel/0.1 (Unix) DAV/2"),
        (
            "Command line: '/usr/sbin/apache2 -d x'",
            "Command line: '/usr/bin/whimbrel-httpd --dialect 2.2 -d x'",
        ),
        ("line one\nline @LEN@\n", "line one\nline two\nthree\n"),
    ],
)
def test_what_matches(expected: str, actual: str) -> None:
    assert matches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("same", "other"),
        ("same", "same "),
        ("", "x"),
        ("at @DATE@.", "at 12:00"),
        ("at @DATE@.", "on 12:00."),
        ("@DATE@ a @DATE@ a", "x a"),
        ("ab@LEN@ba", "aba"),
        ("@PORT@ x", "80 x"),
        ("@SERVERROOT@/a", "/b/a"),
        ("@lower@", "anything"),
        ("Server: Apache/2.4.71 (Debian)", "Server: nginx"),
        ("apache2: Syntax error", "other: Syntax error"),
    ],
)
def test_what_does_not_match(expected: str, actual: str) -> None:
    assert not matches(expected, actual)


def test_many_placeholders_take_linear_time() -> None:
    assert not matches("@LEN@a" * 400 + "b", "a" * 20_000)


def test_product() -> None:
    assert has_product("<address>Apache/2.4.71 (Debian) Server</address>")
    assert not has_product("an apache")
    assert mask_product("Usage: /usr/sbin/apache2 [-D name]") == "Usage: =PROGRAM= [-D name]"


def test_times_and_numbers_of_log_lines() -> None:
    line = '127.0.0.1 - - [22/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5'
    assert mask_access_line(line) == '127.0.0.1 - - [@TIME@] "GET / HTTP/1.1" 200 5'
    assert mask_access_line("127.0.0.1:50123 127.0.0.1:80") == "127.0.0.1:* 127.0.0.1:80"
    assert (
        mask_process_numbers("httpd (pid 17) child 18, PID 19, process 20, 21")
        == "httpd (pid @PID@) child @PID@, PID @PID@, process @PID@, 21"
    )


def test_order_of_a_hash() -> None:
    assert sort_unordered("x\nMutex b: y\nMutex a: z\nw\n") == "x\nMutex a: z\nMutex b: y\nw\n"
    assert sort_unordered("unknown (known names: b,c,a)") == "unknown (known names: a,b,c)"
    assert sort_unordered("b\na\n") == "b\na\n"
