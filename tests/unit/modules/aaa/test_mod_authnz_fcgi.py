"""A FastCGI authorizer: what it is asked, and what its answers do (mod_authnz_fcgi.html, FastCGI 6.3)."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite

Answer = Callable[[dict[str, str]], str]
GRANTED = "Status: 200 OK\r\nVariable-WHO: carol\r\n\r\n"
REFUSED = "Status: 401 Unauthorized\r\n\r\n"


def _length(data: bytes, at: int) -> tuple[int, int]:
    if data[at] < 128:
        return data[at], at + 1
    return int.from_bytes(data[at : at + 4], "big") & 0x7FFFFFFF, at + 4


def variables(data: bytes) -> dict[str, str]:
    """Return the name-value pairs of FastCGI 3.4."""
    found = {}
    at = 0
    while at < len(data):
        name, at = _length(data, at)
        value, at = _length(data, at)
        found[data[at : at + name].decode()] = data[at + name : at + name + value].decode()
        at += name + value
    return found


def record(kind: int, content: bytes) -> bytes:
    return bytes([1, kind, 0, 1]) + len(content).to_bytes(2, "big") + b"\0\0" + content


@contextmanager
def application(answer: Answer) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """Run an authorizer on a loopback port; yield the port, and the variables of each request."""
    asked: list[dict[str, str]] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                wire, _address = listener.accept()
            except OSError:
                return
            with wire, wire.makefile("rb") as stream:
                given = b""
                while head := stream.read(8):
                    content = stream.read(int.from_bytes(head[4:6], "big") + head[6])
                    if head[1] == 1:
                        assert content[:2] == b"\0\2"  # the role AUTHORIZER
                    if head[1] == 4:
                        given += content[: int.from_bytes(head[4:6], "big")]
                        if not given or not content:
                            break
                asked.append(variables(given))
                wire.sendall(record(6, answer(asked[-1]).encode()) + record(3, bytes(8)))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


PLACE = """AuthnzFcgiDefineProvider {} App fcgi://127.0.0.1:{}/
Header set X-Who "expr=%{{reqenv:WHO}} %{{REMOTE_USER}}"
"""
BASIC = "<Location />\nAuthType Basic\nAuthName a\n{}\n</Location>\n"


def site_of(root: Path, kind: str, port: int, body: str) -> AccessSite:
    conf = PLACE.format(kind, port) + BASIC.format(body)
    return AccessSite(root, conf, "2.4", MODULES["2.4"] + " headers authnz_fcgi")


@pytest.mark.parametrize(
    ("kind", "body", "role"),
    [
        ("authn", "AuthBasicProvider App\nRequire valid-user", "AUTHENTICATOR"),
        ("authn", "AuthnzFcgiCheckAuthnProvider App\nRequire valid-user", "AUTHENTICATOR"),
        ("authnz", "AuthBasicProvider App\nRequire App", None),
        ("authz", "AuthUserFile conf/users\nRequire App", "AUTHORIZER"),
    ],
)
@pytest.mark.parametrize("is_granted", [True, False])
def test_roles(tmp_path: Path, kind: str, body: str, role: str | None, is_granted: bool) -> None:
    with application(lambda _given: GRANTED if is_granted else REFUSED) as (port, asked):
        site = site_of(tmp_path, kind, port, body)
        status = site.status(user="alice:wonder")
    assert status == (200 if is_granted else 401)
    (given,) = asked
    assert (given["FCGI_ROLE"], given.get("FCGI_APACHE_ROLE")) == ("AUTHORIZER", role)
    assert given.get("REMOTE_PASSWD") == (None if kind == "authz" else "wonder")
    assert (given["REMOTE_USER"], given["REQUEST_URI"], given["REQUEST_METHOD"]) == (
        "alice",
        "/f.html",
        "GET",
    )
    assert not {"CONTENT_LENGTH", "PATH_INFO", "PATH_TRANSLATED", "SCRIPT_NAME"} & given.keys()


def test_variables_of_the_answer_are_set(tmp_path: Path) -> None:
    with application(lambda _given: GRANTED) as (port, _asked):
        site = site_of(tmp_path, "authn", port, "AuthBasicProvider App\nRequire valid-user")
        answer = site.fetch(user="alice:wonder")
    assert "\r\nX-Who: carol alice\r\n" in answer and "Variable-WHO" not in answer


@pytest.mark.parametrize(
    ("options", "status", "user"),
    [
        ('UserExpr "%{reqenv:WHO}"', 200, "carol"),
        ('UserExpr "%{reqenv:NONE}" DefaultUser anon', 200, "anon"),
        ('UserExpr "%{reqenv:NONE}"', 500, None),
        ("", 200, "alice"),
    ],
)
def test_the_user_is_that_of_the_expression(
    tmp_path: Path, options: str, status: int, user: str | None
) -> None:
    with application(lambda _given: GRANTED) as (port, _asked):
        body = f"AuthnzFcgiCheckAuthnProvider App {options}\nRequire valid-user"
        answer = site_of(tmp_path, "authn", port, body).fetch(user="alice:wonder")
    assert int(answer.split(" ", 2)[1]) == status
    assert user is None or f"\r\nX-Who: carol {user}\r\n" in answer


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ("", 500, "AH02510"),
        ("Status: 403 Forbidden\r\n\r\n", 401, ""),
        ("Status: 500 Broken\r\n\r\n", 500, ""),
        ("no head at all", 500, "AH02514"),
    ],
)
def test_answers_that_refuse(tmp_path: Path, answer: str, status: int, code: str) -> None:
    with application(lambda _given: answer) as (port, _asked):
        site = site_of(tmp_path, "authn", port, "AuthBasicProvider App\nRequire valid-user")
        assert site.status(user="alice:wonder") == status
    assert not code or code in site.codes()


def test_an_application_that_is_not_there(tmp_path: Path) -> None:
    site = site_of(tmp_path, "authn", 1, "AuthBasicProvider App\nRequire valid-user")
    assert site.status(user="alice:wonder") == 500
    assert "AH02495" in site.codes()


@pytest.mark.parametrize(
    ("options", "user", "status", "count"),
    [
        ("RequireBasicAuth On", "", 401, 0),
        ("RequireBasicAuth On", "alice:wonder", 200, 1),
        ("", "", 200, 1),
    ],
)
def test_basic_credentials_may_be_required(
    tmp_path: Path, options: str, user: str, status: int, count: int
) -> None:
    with application(lambda _given: GRANTED) as (port, asked):
        body = f'AuthnzFcgiCheckAuthnProvider App {options} UserExpr "%{{reqenv:WHO}}"\nRequire valid-user'
        assert site_of(tmp_path, "authn", port, body).status(user=user) == status
    assert len(asked) == count


@pytest.mark.parametrize("is_authoritative", [True, False])
def test_the_body_of_a_refusal_is_shown(tmp_path: Path, is_authoritative: bool) -> None:
    """Without authority the refusal is that of the next module, which has no password file."""
    with application(lambda _given: "Status: 403 Forbidden\r\n\r\nno entry") as (port, _asked):
        flag = "On" if is_authoritative else "Off"
        body = f"AuthnzFcgiCheckAuthnProvider App Authoritative {flag}\nRequire valid-user"
        answer = site_of(tmp_path, "authn", port, body).fetch(user="alice:wonder")
    assert ("no entry" in answer) is is_authoritative
    assert answer.split(" ", 2)[1] == ("403" if is_authoritative else "500")
