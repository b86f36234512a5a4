"""Log lines of cached responses: changed fields, host names that one connection looked up, fields that depend
on the clock.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine

from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime

LOG = "LoadModule log_config_module modules/mod_log_config.so\nCustomLog logs/log "
FILES = {
    "htdocs/a.txt": "A\n",
    "htdocs/named/a.txt": "N\n",
    "htdocs/page.txt": '<!--#include virtual="/a.txt" -->\n',
}


def client(serving: Engine, address: str = "127.0.0.1") -> TestClient:
    return TestClient(serving, Connection(address, 5000, "127.0.0.1", 80))


def ask(at: TestClient, path: str = "/a.txt", *fields: str, method: str = "GET") -> str:
    lines = "".join(f"{field}\r\n" for field in fields)
    return at.send(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()).decode("latin-1")


def lines(serving: Engine) -> list[str]:
    runtime = serving.runtime
    assert isinstance(runtime, FakeRuntime)
    return [
        line.decode().rstrip("\n")
        for name, found in runtime.logs.items()
        if name.endswith("/log")
        for line in found
    ]


def made(serving: Engine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the responses that do not come from the cache."""
    count, respond = [0], serving.respond

    def counted(*arguments: object) -> object:
        count[0] += 1
        return respond(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(serving, "respond", counted)
    return count


def test_a_field_that_was_changed_is_logged_as_it_was_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = build_engine(tmp_path, f'RequestHeader set X-A changed\n{LOG} "%{{X-A}}i"', FILES)
    count = made(serving, monkeypatch)
    for _ in range(3):
        ask(client(serving), "/a.txt", "X-A: sent")
    assert lines(serving) == ["changed"] * 3
    assert count == [1]


@pytest.mark.parametrize(
    ("values", "told"), [(["", "b"], ", b"), (["a", ""], "a, "), (["a", "b"], "a, b"), ([""], "")]
)
def test_a_field_that_comes_twice_is_logged_whole(tmp_path: Path, values: list[str], told: str) -> None:
    serving = build_engine(tmp_path, f'{LOG} "%{{X-A}}i"', FILES)
    for value in ("x", "y"):
        ask(client(serving), "/a.txt", f"X-A: {value}")
    ask(client(serving), "/a.txt", *(f"X-A: {value}" for value in values))
    assert lines(serving) == ["x", "y", told]


def test_a_name_that_one_connection_looked_up_is_not_told_to_another(tmp_path: Path) -> None:
    conf = (
        'LoadModule authz_host_module modules/mod_authz_host.so\nHeader set X-Name "expr=%{REMOTE_HOST}"\n'
        "<Location /named>\nRequire host localhost\n</Location>"
    )
    serving = build_engine(tmp_path, conf, FILES)
    knowing = client(serving)
    ask(knowing, "/named/a.txt")
    assert "X-Name: localhost\r\n" in ask(knowing)
    assert "X-Name: 127.0.0.1\r\n" in ask(client(serving))


@pytest.mark.parametrize("copy", ['Header set X-Copy "expr=%{resp:Expires}"', "Header note Expires at"])
def test_a_copy_of_what_goes_with_the_clock_goes_with_it_too(
    tmp_path: Path, copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = (
        "LoadModule expires_module modules/mod_expires.so\nExpiresActive On\n"
        'ExpiresDefault "access plus 1 hour"\n'
        f'{copy}\n{LOG} "%{{at}}n"'
    )
    serving = build_engine(tmp_path, conf, FILES)
    told = []
    for now in (1_790_000_000.0, 1_790_000_007.0):
        monkeypatch.setattr(serving.runtime, "now", lambda now=now: now)
        head = ask(client(serving)).partition("\r\n\r\n")[0].split("\r\n")
        expires = next(line[9:] for line in head if line.startswith("Expires: "))
        told.append(expires)
        assert f"X-Copy: {expires}" in head or lines(serving)[-1] == expires
    assert told == ["Mon, 21 Sep 2026 15:13:20 GMT", "Mon, 21 Sep 2026 15:13:27 GMT"]


def test_a_log_goes_by_fields_without_a_word_in_vary(tmp_path: Path) -> None:
    """2.4.71: neither the head nor the line has a Vary."""
    serving = build_engine(tmp_path, LOG + '"%{Vary}o" "expr=%{HTTP:X-A} == \'one\'"', FILES)
    for value in ("one", "two", "one", "one"):
        assert "Vary" not in ask(client(serving), "/a.txt", f"X-A: {value}")
    assert lines(serving) == ["-"] * 3


def test_a_body_that_can_not_be_read_is_no_matter_of_included_documents(tmp_path: Path) -> None:
    conf = (
        "LoadModule include_module modules/mod_include.so\nOptions +Includes\nAddOutputFilter INCLUDES .txt"
    )
    serving = build_engine(tmp_path, conf, FILES, "2.2")
    assert ask(client(serving), "/page.txt", "Content-Length: x").startswith("HTTP/1.1 ")


def test_a_host_field_that_the_target_replaces_is_logged_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serving = build_engine(tmp_path, f'{LOG} "%{{Host}}i"', FILES)
    count = made(serving, monkeypatch)
    for _ in range(3):
        ask(client(serving), "http://named.test/a.txt", "Host: other.test")
    assert count == [1] and lines(serving) == ["named.test"] * 3
