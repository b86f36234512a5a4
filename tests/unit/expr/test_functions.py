"""Functions; the values are those of the running httpd, of RFC 4648 and RFC 4515."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.expr.stand_in import StandIn, record

from whimbrel.expr.api import compile_string
from whimbrel.expr.functions import decode_base64, entry, escape, unescape
from whimbrel.http.semantics.headers import Headers


def value(text: str, view: StandIn | None = None) -> str:
    return compile_string(text)(view or StandIn(record()))


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("%{tolower:ABC}%{toupper:abc}", "abcABC"),
        ("%{toupper:\xe4}", "\xe4"),
        ("%{base64:hello world}", "aGVsbG8gd29ybGQ="),
        ("%{unbase64:aGVsbG8}", "hello"),
        ("%{md5:abc}", "900150983cd24fb0d6963f7d28e17f72"),
        ("%{sha1:abc}", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("%{ldap:a*b(c)d\\\\e\\001\\200}", "a\\2ab\\28c\\29d\\5ce\\01\\80"),
    ],
)
def test_texts(text: str, known: str) -> None:
    assert value(text) == known


def test_escape() -> None:
    assert (
        escape("a~-._!$&'()*+,;=:@/?#[]%\"<>{|\\^`\x7f\x80")
        == "a~-._!$&'()*+,;=:@/%3f%23%5b%5d%25%22%3c%3e%7b%7c%5c%5e%60%7f%80"
    )


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("a%20b", ("a b", "")),
        ("a%2fb", ("a%2fb", "")),
        ("a+b", ("a+b", "")),
        ("%zz", ("%zz", "Bad")),
        ("%00", ("\0", "Forbidden")),
    ],
)
def test_unescape(text: str, known: tuple[str, str]) -> None:
    assert unescape(text) == known


def test_a_failed_unescape_is_nothing_and_logged() -> None:
    view = StandIn(record())
    assert value("%{unescape:%2}", view) == ""
    assert view.lines == [("Bad % escape in unescape('%2')", "AH00538")]


@pytest.mark.parametrize(
    ("text", "known"), [("aGVsbG8gd29ybGQ=trailing", "hello world"), ("a!b", ""), ("AGE=", ""), ("", "")]
)
def test_broken_base64(text: str, known: str) -> None:
    assert decode_base64(text) == known


def test_tables_have_no_case() -> None:
    assert entry({"Num": "1"}, "nUM") == "1"
    assert entry({}, "x") is None


def test_where_values_come_from() -> None:
    request = record({"X-A": "in"}, env={"E": "env", "BOTH": "env"}, notes={"N": "note", "BOTH": "note"})
    request.headers_out, request.err_headers_out = Headers(), Headers()
    request.headers_out.add("O", "out")
    request.err_headers_out.add("R", "err")
    text = (
        "%{req:x-a} %{http:X-A} %{req_novary:X-A} %{resp:o} %{resp:R} %{reqenv:e} %{note:n} %{env:BOTH} "
        "%{env:E} %{reqenv:N}|"
    )
    assert value(text, StandIn(request)) == "in in in out err env note note env |"


def test_the_system_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHIMBREL_TEST", "there")
    assert value("%{osenv:WHIMBREL_TEST}%{env:WHIMBREL_TEST}%{osenv:WHIMBREL_NONE}") == "therethere"


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"X\n\0rest")
    assert (
        value(f"%{{file:{tmp_path}/a}}|%{{filesize:{tmp_path}/a}}|%{{filesize:{tmp_path}/none}}") == "X\n|7|0"
    )
