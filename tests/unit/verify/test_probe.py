"""Probes: their request heads, and how reports name them."""

from __future__ import annotations

import base64

import pytest

from whimbrel.verify.probe import RIGHT_PASSWORD, WRONG_PASSWORD, Probe, ProbeUser, TlsFacts, secrets_of


def test_a_head() -> None:
    probe = Probe("/a?b", host="a.test", fields=(("X-A", "1"), ("X-B", "2")))
    assert probe.head() == b"GET /a?b HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\nX-B: 2\r\n\r\n"
    assert Probe(protocol="HTTP/1.0").head() == b"GET / HTTP/1.0\r\n\r\n"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
def test_methods_without_a_body_have_no_length(method: str) -> None:
    assert b"Content-Length" not in Probe(method=method).head()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PROPFIND"])
def test_methods_with_a_body_have_an_empty_one(method: str) -> None:
    assert b"\r\nContent-Length: 0\r\n" in Probe(method=method).head()


@pytest.mark.parametrize(("is_valid", "password"), [(True, RIGHT_PASSWORD), (False, WRONG_PASSWORD)])
def test_basic_credentials(is_valid: bool, password: str) -> None:
    head = Probe(user=ProbeUser("alice", is_password_valid=is_valid)).head().decode()
    value = head.partition("Authorization: Basic ")[2].split()[0]
    assert base64.b64decode(value).decode() == f"alice:{password}"


def test_digest_credentials_take_a_challenge() -> None:
    assert b"Authorization" not in Probe(user=ProbeUser("alice", "digest")).head()


@pytest.mark.parametrize(
    ("probe", "words"),
    [
        (Probe(), "GET http://127.0.0.1/ from 192.0.2.1"),
        (Probe("/a", host="a.test"), "GET http://a.test/a from 192.0.2.1"),
        (Probe("/a", host="a.test", port=8080), "GET http://a.test:8080/a from 192.0.2.1, Host: a.test"),
        (
            Probe("/a", host="a.test:81", port=8080),
            "GET http://a.test:8080/a from 192.0.2.1, Host: a.test:81",
        ),
        (Probe("/a", host="a.test", port=443, tls=TlsFacts()), "GET https://a.test/a from 192.0.2.1"),
        (
            Probe("/a", host="a.test", port=80, tls=TlsFacts()),
            "GET https://a.test:80/a from 192.0.2.1, Host: a.test",
        ),
        (Probe(host="a", method="PUT", client="10.0.0.1"), "PUT http://a/ from 10.0.0.1"),
        (Probe(host="a", client_host="c.test"), "GET http://a/ from 192.0.2.1 (c.test)"),
        (Probe(host="a", user=ProbeUser("u")), "GET http://a/ from 192.0.2.1 as u"),
        (
            Probe(host="a", user=ProbeUser("u", groups=("g", "h"), is_password_valid=False)),
            "GET http://a/ from 192.0.2.1 as u in g, h with a wrong password",
        ),
        (
            Probe(host="a", fields=(("X-A", "1"), ("X-B", "2")), environment=(("K", "1"), ("L", "1"))),
            "GET http://a/ from 192.0.2.1, X-A: 1, X-B: 2, with K set, with L set",
        ),
    ],
)
def test_the_words_of_a_report(probe: Probe, words: str) -> None:
    assert str(probe) == words
    host = words.partition(", Host: ")
    assert probe.request_text == words.partition(" from ")[0] + "".join(host[1:])


def test_a_client_without_qop_is_named() -> None:
    """2.4 refuses it; a client with qop is an ordinary one."""
    texts = [str(ProbeUser("alice", scheme)) for scheme in ("basic", "digest", "digest without qop")]
    assert texts == ["alice", "alice", "alice by digest without qop"]


def test_a_host_field_that_the_url_does_not_show() -> None:
    assert str(Probe("/a", host="a.test", port=8080)).endswith(", Host: a.test")
    for same in (Probe("/a", host="a.test"), Probe("/a"), Probe("/a", host="a.test:8080", port=8080)):
        assert "Host" not in str(same)


@pytest.mark.parametrize(
    ("token", "text", "shown"),
    [
        ("x", "x of index.html", "_ of index.html"),  # no path is hidden by letters that it has
        ("Basic YWxp", "a YWxpY2U b ali", "a _Y2U b _"),
        ("Bearer abcd", "/zabcdz?t=abcd", "/z_z?t=_"),
    ],
)
def test_what_is_hidden_of_credentials(token: str, text: str, shown: str) -> None:
    secrets = secrets_of(Probe(fields=(("Authorization", token),)))
    assert secrets is not None
    assert secrets.sub("_", text) == shown
