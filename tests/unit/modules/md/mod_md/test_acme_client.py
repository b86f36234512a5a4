"""The client of ACME against a server on loopback that sends what the test wants."""

from __future__ import annotations

import errno
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("cryptography", reason="the optional package cryptography is not installed")

from tests.support.managed_domains import EC

from whimbrel.modules.md.mod_md import acme_client, keys
from whimbrel.modules.md.mod_md.acme_client import AcmeAuthority
from whimbrel.modules.md.mod_md.authority import AuthorityError
from whimbrel.modules.md.mod_md.settings import KeyKind

RSA = KeyKind("RSA", 2048)
PROBLEM = {"type": "urn:ietf:params:acme:error:rateLimited", "detail": "too many", "status": 429}


class Server:
    """A server on loopback: *answers* has status, fields and body by path; *received* what was sent."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.received: list[tuple[str, dict[str, Any]]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length", "0"))
                data = self.rfile.read(length)
                server.received.append((self.path, json.loads(data) if data else {}))
                status, fields, body = server.answers.get(self.path, (404, {}, b"gone"))
                self.send_response(status)
                for name, value in {"Replay-Nonce": "bm9uY2U", **fields}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            do_GET = do_POST = do_HEAD = _answer

            def log_message(self, *_arguments: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        endpoints = {name: f"{self.url}/{name}" for name in ("newNonce", "newAccount", "newOrder")}
        self.set(
            "/dir", {**endpoints, "renewalInfo": f"{self.url}/ari", "meta": {"profiles": {"short": "x"}}}
        )
        self.answers["/newNonce"] = (200, {}, b"")

    def set(self, path: str, record: object, status: int = 200, **fields: str) -> None:
        kind = "application/problem+json" if status >= 400 else "application/json"
        named = {name.replace("_", "-"): value for name, value in fields.items()}
        self.answers[path] = (status, {"Content-Type": kind, **named}, json.dumps(record).encode())


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


@pytest.fixture(scope="module")
def account_key() -> bytes:
    return keys.key_pem(keys.generate(RSA))


def connected(server: Server, key: bytes) -> AcmeAuthority:
    ca = AcmeAuthority(f"{server.url}/dir")
    ca.directory()
    ca.use(key, f"{server.url}/account")
    return ca


def test_the_directory(server: Server) -> None:
    found = AcmeAuthority(f"{server.url}/dir").directory()
    assert (found.profiles, found.has_ari, found.terms, found.needs_binding) == (("short",), True, "", False)


def refused(server: Server) -> AuthorityError:
    with pytest.raises(AuthorityError) as caught:
        AcmeAuthority(f"{server.url}/dir").directory()
    return caught.value


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'"x"', b"{}", b'{"newNonce": 5}', b"\xff", b"[" * 99_999]
)
def test_garbage_instead_of_a_directory(server: Server, body: bytes) -> None:
    server.answers["/dir"] = (200, {"Content-Type": "application/json"}, body)
    assert refused(server).status == errno.EINVAL


def test_a_directory_without_end(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acme_client, "MAX_RESPONSE", 100_000)
    server.answers["/dir"] = (200, {}, b" " * 300_000)
    assert "Unsuccessful in contacting ACME server" in refused(server).detail


def test_a_server_that_is_down() -> None:
    with pytest.raises(AuthorityError) as caught:
        AcmeAuthority("http://127.0.0.1:1/dir").directory()
    assert caught.value.status == errno.ECONNREFUSED
    assert caught.value.detail.startswith(
        "Unsuccessful in contacting ACME server at <http://127.0.0.1:1/dir>. If "
    )


def test_a_server_that_is_slow() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/dir"
        ca = AcmeAuthority(url)
        ca._net._default_timeout = 0.2  # type: ignore[assignment]
        with pytest.raises(AuthorityError) as caught:
            ca.directory()
    assert caught.value.status == errno.ETIMEDOUT


@pytest.mark.parametrize(
    ("status", "number", "text"),
    [
        (503, errno.EAGAIN, "reports that Service is Unavailable (503). This may happen during maintenance"),
        (404, errno.EAGAIN, "responded with HTTP status 404. This is unusual."),
    ],
)
def test_other_statuses(server: Server, status: int, number: int, text: str) -> None:
    server.answers["/dir"] = (status, {}, b"")
    problem = refused(server)
    assert problem.status == number and text in problem.detail


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/", "x"])
def test_urls_that_are_not_http(url: str) -> None:
    with pytest.raises(AuthorityError):
        AcmeAuthority(url).directory()


def test_a_ca_file_that_is_missing(server: Server) -> None:
    with pytest.raises(AuthorityError) as caught:
        AcmeAuthority(f"{server.url}/dir", ca_file="/nonexistent").directory()
    assert caught.value.status == errno.ENOENT


def test_an_account(server: Server, account_key: bytes) -> None:
    server.set("/newAccount", {"status": "valid", "orders": "x"}, 201, Location=f"{server.url}/account/7")
    ca = connected(server, account_key)
    ca.use(account_key, "")
    account = ca.register(["mailto:a@b"], agrees=True, binding=None)
    assert (account.url, account.record["orders"]) == (f"{server.url}/account/7", "x")
    payload = json.loads(_decoded(server.received[-1][1]["payload"]))
    assert payload == {"contact": ["mailto:a@b"], "termsOfServiceAgreed": True}


def _decoded(text: str) -> bytes:
    import base64

    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_a_binding(server: Server, account_key: bytes) -> None:
    server.set("/newAccount", {}, 201, Location="x")
    ca = connected(server, account_key)
    ca.use(account_key, "")
    ca.register(
        [], agrees=False, binding=("kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsU")
    )
    binding = json.loads(_decoded(server.received[-1][1]["payload"]))["externalAccountBinding"]
    head = json.loads(_decoded(binding["protected"]))
    assert head == {"alg": "HS256", "kid": "kid-1", "url": f"{server.url}/newAccount"}
    assert json.loads(_decoded(binding["payload"]))["kty"] == "RSA"


def test_an_order_with_profile(server: Server, account_key: bytes) -> None:
    record = {"status": "pending", "authorizations": ["u", 5], "finalize": "f", "error": []}
    server.set("/newOrder", record, 201, Location="o")
    order = connected(server, account_key).new_order(["a.test"], "short", "id")
    assert (order.url, order.status, order.authorizations, order.finalize) == ("o", "pending", ("u",), "f")
    payload = json.loads(_decoded(server.received[-1][1]["payload"]))
    identifiers = [{"type": "dns", "value": "a.test"}]
    assert payload == {"identifiers": identifiers, "profile": "short", "replaces": "id"}


def test_problem_documents(server: Server, account_key: bytes) -> None:
    server.set("/newOrder", PROBLEM, 429)
    with pytest.raises(AuthorityError) as caught:
        connected(server, account_key).new_order(["a.test"], "", "")
    assert (caught.value.detail, caught.value.problem) == ("too many", PROBLEM["type"])


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"5"])
def test_garbage_instead_of_an_order(server: Server, account_key: bytes, body: bytes) -> None:
    server.answers["/newOrder"] = (201, {"Location": "o"}, body)
    server.answers["/broken"] = (500, {}, body)
    ca = connected(server, account_key)
    for call in (lambda: ca.new_order(["a"], "", ""), lambda: ca.order(f"{server.url}/broken")):
        with pytest.raises(AuthorityError):
            call()


def test_a_nonce_that_is_refused(server: Server, account_key: bytes) -> None:
    server.set("/newOrder", {"type": "urn:ietf:params:acme:error:badNonce", "detail": "x"}, 400)
    with pytest.raises(AuthorityError) as caught:
        connected(server, account_key).new_order(["a.test"], "", "")
    assert caught.value.status == errno.EAGAIN
    assert [path for path, _ in server.received].count("/newOrder") == 10  # httpd 2.4.71


@pytest.mark.parametrize(("status", "number"), [(500, 20014), (403, errno.EACCES), (404, errno.ENOENT)])
def test_a_refusal_without_a_problem_document(
    server: Server, account_key: bytes, status: int, number: int
) -> None:
    server.answers["/newOrder"] = (status, {"Content-Type": "text/html"}, b"<h1>no</h1>")
    with pytest.raises(AuthorityError) as caught:
        connected(server, account_key).new_order(["a.test"], "", "")
    problem = caught.value
    assert (problem.status, problem.detail) == (number, f"unexpected http status: {status}")
    assert (problem.levels, problem.line) == (("warn",), f"acme problem unknown: http status {status}")


def test_an_authorization(server: Server, account_key: bytes) -> None:
    challenge = {"type": "http-01", "url": "c", "token": "t", "status": "pending"}
    record = {"identifier": {"type": "dns", "value": "a.test"}, "status": "pending", "wildcard": True}
    server.set("/authz", {**record, "challenges": [challenge, 5, {}]})
    found = connected(server, account_key).authorization(f"{server.url}/authz")
    assert (found.domain, found.status) == ("a.test", "pending")
    assert [each.kind for each in found.challenges] == ["http-01", ""]


def test_key_authorizations(server: Server, account_key: bytes) -> None:
    token, dot, thumbprint = connected(server, account_key).key_authorization("tok").partition(".")
    assert (token, dot, len(thumbprint)) == ("tok", ".", 43)


@pytest.mark.parametrize(
    ("window", "is_valid"),
    [
        ({"start": "2026-01-02T04:00:00Z", "end": "2026-01-03T04:00:00Z"}, True),
        ({"start": "2026-01-03T04:00:00Z", "end": "2026-01-02T04:00:00Z"}, False),
        ({"start": "x", "end": "2026-01-02T04:00:00Z"}, False),
        ([], False),
    ],
)
def test_renewal_information(server: Server, window: object, is_valid: bool) -> None:
    record = {"suggestedWindow": window, "explanationURL": "https://x/"}
    server.set("/ari/id", record, Retry_After="21600")
    ca = AcmeAuthority(f"{server.url}/dir")
    ca.directory()
    if not is_valid:
        with pytest.raises(AuthorityError):
            ca.renewal_info("id")
        return
    info = ca.renewal_info("id")
    assert (info.end - info.begin, info.retry_after, info.explanation) == (86_400, 21_600, "https://x/")


def test_a_certificate(server: Server, account_key: bytes) -> None:
    server.answers["/cert"] = (200, {"Content-Type": "application/pem-certificate-chain"}, b"PEM")
    assert connected(server, account_key).certificate(f"{server.url}/cert") == b"PEM"
    assert EC.name == "secp256r1"
