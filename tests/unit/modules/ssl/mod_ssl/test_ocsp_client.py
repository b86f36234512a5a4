"""Requests to OCSP responders: by name, by address, through a proxy; lines are httpd's."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.ocsp import FakeResponder, over_http

from whimbrel.modules.ssl.mod_ssl.ocsp_client import Responder, ResponderError, exchange


def head_of(data: bytes) -> list[str]:
    return data.partition(b"\r\n\r\n")[0].decode().split("\r\n")


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "LOCALHOST"])
@pytest.mark.parametrize(("path", "target"), [("", "/"), ("/status", "/status"), ("/a/b?c=d", "/a/b?c=d")])
def test_a_responder_is_found_by_its_name(name: str, path: str, target: str) -> None:
    with FakeResponder(lambda request: over_http(b"answer to " + request)) as responder:
        port = responder.url.rpartition(":")[2].partition("/")[0]
        url = f"http://{name}:{port}{path}"
        assert exchange(Responder(url, "", 5.0), b"question") == b"answer to question"
        (data,) = responder.requests
    first, *fields = head_of(data)
    assert first == f"POST {target} HTTP/1.0"
    assert f"Host: {name.lower()}:{port}" in fields and "Content-Length: 8" in fields
    assert "Content-Type: application/ocsp-request" in fields and "Connection: close" in fields


def test_a_proxy_gets_the_whole_url() -> None:
    with FakeResponder(lambda _request: over_http(b"answer")) as proxy:
        url = "http://responder.invalid/status"
        assert exchange(Responder(url, proxy.url, 5.0), b"q") == b"answer"
        assert head_of(proxy.requests[0])[:2] == [f"POST {url} HTTP/1.0", "Host: responder.invalid:80"]


@pytest.mark.parametrize(
    ("url", "proxy", "code", "text"),
    [
        ("http://no.invalid/", "", "AH01972", "could not resolve address of OCSP responder no.invalid:80"),
        ("http://no.invalid:81/", "", "AH01972", "could not resolve address of OCSP responder no.invalid:81"),
        (
            "http://a/",
            "http://no.invalid/",
            "AH01972",
            "could not resolve address of OCSP proxy no.invalid:80",
        ),
        ("http://127.0.0.1:1/", "", "AH01974", "could not connect to OCSP responder '127.0.0.1:1'"),
        ("http://a/", "http://127.0.0.1:1/", "AH01974", "could not connect to OCSP proxy '127.0.0.1:1'"),
    ],
)
def test_a_responder_that_is_not_there(url: str, proxy: str, code: str, text: str) -> None:
    with pytest.raises(ResponderError) as problem:
        exchange(Responder(url, proxy, 5.0), b"q")
    assert (problem.value.line.code, str(problem.value)) == (code, text)
    assert problem.value.line.cause == ("(111)Connection refused" if code == "AH01974" else "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"", "AH01980"),
        (b"HTTP/1.0 404 Not Found\r\n\r\n", "AH01980"),
        (b"HTTP/1.0 302 Found\r\n\r\n", "AH01980"),
        (b"HTTP/1.0\r\n\r\n", "AH01980"),
        (b"ICY 200 OK\r\n\r\n", "AH01980"),
        (b"HTTP/1.0 200 OK\r\nA: b\r\n", "AH01983"),
        (b"HTTP/1.0 200 OK\r\n", "AH01983"),
    ],
)
def test_what_is_no_response(answer: bytes, code: str) -> None:
    with FakeResponder(lambda _request: answer) as responder, pytest.raises(ResponderError) as problem:
        exchange(Responder(responder.url, "", 5.0), b"q")
    assert problem.value.line.code == code


@pytest.mark.parametrize("status", ["HTTP/1.1 200 OK", "HTTP/1.0 204 x", "HTTP/1.1 299"])
def test_every_status_of_success_is_taken(status: str) -> None:
    answer = f"{status}\r\nA: b\r\n\r\nbody".encode()
    with FakeResponder(lambda _request: answer) as responder:
        assert exchange(Responder(responder.url, "", 5.0), b"q") == b"body"
