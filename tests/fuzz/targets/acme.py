"""Responses of ACME authorities: AuthorityError alone, whatever status, fields and body come.

The first line is the status, the type, the nonce and the location, separated by blanks; the rest is the body.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from functools import cache

import pytest

pytest.importorskip("acme", reason="the extra acme is not installed")
pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

import requests
from cryptography.hazmat.primitives.asymmetric import rsa
from requests.adapters import HTTPAdapter

from whimbrel.modules.md.mod_md import keys
from whimbrel.modules.md.mod_md.acme_client import AcmeAuthority
from whimbrel.modules.md.mod_md.authority import AuthorityError

COVERED = ("modules/md/mod_md/acme_client.py",)
URL = "http://ca.test"
ENDPOINTS = '{"newNonce":"http://ca.test/n","newAccount":"http://ca.test/a","newOrder":"http://ca.test/o","renewalInfo":"http://ca.test/r"'
TOKENS = (
    b'{"',
    b'":"',
    b'",',
    b"}",
    b"[",
    b"]",
    b"null",
    b'"status":"valid"',
    b'"type":"urn:ietf:params:acme:error:badNonce"',
    b'"detail":',
    b'"authorizations":[',
    b'"challenges":[{"type":"http-01","url":"http://ca.test/c","token":"x"}]',
    b'"identifier":{"value":"a.test"}',
    b'"suggestedWindow":{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}',
    b"application/problem+json",
)

CHANGED = 60
QUESTIONS: tuple[Callable[[AcmeAuthority], object], ...] = (
    lambda ca: ca.directory(),
    lambda ca: ca.register(["mailto:a@a.test"], agrees=True, binding=None),
    lambda ca: ca.check_account(),
    lambda ca: ca.new_order(["a.test"], "short", ""),
    lambda ca: ca.authorization(f"{URL}/z"),
    lambda ca: ca.certificate(f"{URL}/c"),
    lambda ca: ca.renewal_info("x.y"),
)


@cache
def key() -> bytes:
    """Return the key of the account."""
    return keys.key_pem(rsa.generate_private_key(65537, 1024))


@cache
def authority() -> AcmeAuthority:
    """Return an authority with an account."""
    found = AcmeAuthority(URL)
    ready = f"{ENDPOINTS}}}".encode()
    found._net.session.mount("http://", Answers(200, "application/json", "bm9uY2U", "", ready))
    found.directory()
    found.use(key(), f"{URL}/1")
    return found


class Answers(HTTPAdapter):
    """The transport of a session: each request gets the same response, the directory its own."""

    def __init__(self, status: int, kind: str, nonce: str, location: str, body: bytes) -> None:
        super().__init__()
        self._parts = status, kind, nonce, location, body

    def send(self, request, *arguments, **options):  # type: ignore[no-untyped-def]
        """Return the response."""
        status, kind, nonce, location, body = self._parts
        response = requests.Response()
        response.status_code = status
        response.url = request.url
        response.request = request
        response.reason = ""
        response.raw = io.BytesIO(body)
        for name, value in (
            ("Content-Type", kind),
            ("Replay-Nonce", nonce),
            ("Location", location),
            ("Retry-After", kind),
        ):
            if value and value != "-":
                response.headers[name] = value
        return response


def seeds() -> Sequence[bytes]:
    answers = [
        "200 application/json bm9uY2U http://ca.test/1\n"
        + ENDPOINTS
        + ',"meta":{"profiles":{"a":"b"},"termsOfService":"t"}}',
        '201 application/json bm9uY2U http://ca.test/1\n{"status":"pending","authorizations":["http://ca.test/z"],'
        '"finalize":"http://ca.test/f","error":{"type":"x"}}',
        '200 application/json bm9uY2U -\n{"identifier":{"type":"dns","value":"a"},"status":"valid",'
        '"challenges":[{"type":"http-01","url":"u","token":"t"}]}',
        '200 300 bm9uY2U -\n{"suggestedWindow":{"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"},'
        '"explanationURL":"u"}',
        "429 application/problem+json bm9uY2U -\n"
        '{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many","status":429}',
        "400 application/problem+json bm9uY2U -\n"
        '{"type":"urn:ietf:params:acme:error:badNonce","subproblems":[1]}',
        "503 text/html - -\n<html>",
        "200 application/json !! -\n[]",
        "404 - bm9uY2U -\n",
    ]
    return [answer.encode() for answer in answers]


def run(data: bytes) -> None:
    line, _, body = data.partition(b"\n")
    words = [*line.decode("latin-1").split(" "), "", "", ""]
    status = int(words[0]) if words[0].isascii() and words[0].isdecimal() and len(words[0]) == 3 else 200
    parts = status, *(word.strip("\r\n") for word in words[1:4]), body

    ca = authority()
    endpoints = dict(ca._endpoints)
    account = ca._net.account
    ca._net.session.mount("http://", Answers(*parts))  # type: ignore[arg-type]
    for question in QUESTIONS:
        ca._endpoints = endpoints
        ca._net.account = account
        with contextlib.suppress(AuthorityError):
            question(ca)
